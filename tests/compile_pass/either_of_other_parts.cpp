// SPDX-License-Identifier: MIT
// The control of compile_fail/either_of_other_parts.cpp.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const {
    return either(at.depth.layer == 1, norma::ResiDual{}.slots(at), norma::ResiDual{.alpha = 2}.slots(at));
  }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
