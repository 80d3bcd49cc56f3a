// SPDX-License-Identifier: MIT
// error: norma: a policy fills this slot twice
// A slot is filled once.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const { return norma::place().pre(at.norm).out(at.norm).pre(at.norm); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
