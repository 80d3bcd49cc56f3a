// SPDX-License-Identifier: MIT
// The control of compile_fail/slot_filled_twice.cpp.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const { return norma::place().pre(at.norm).out(at.norm); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
