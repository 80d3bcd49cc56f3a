// SPDX-License-Identifier: MIT
// The control of compile_fail/policy_without_slots.cpp.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const { return norma::place().pre(at.norm); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
