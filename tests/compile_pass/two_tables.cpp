// SPDX-License-Identifier: MIT
// The control of compile_fail/two_tables.cpp.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const {
    const bool first = at.depth.layer == 1;
    return norma::place().pre(norma::when(first, at.norm)).out(norma::when(!first, at.norm));
  }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
