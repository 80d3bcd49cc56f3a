// SPDX-License-Identifier: MIT
// error: norma: a policy has `auto slots.auto at. const`
// slots(at) is const: a policy is a value.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) { return norma::place().pre(at.norm); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
