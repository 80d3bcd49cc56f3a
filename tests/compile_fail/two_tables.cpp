// SPDX-License-Identifier: MIT
// error: inconsistent deduction for auto return type|in return type deduced as
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const {
    const bool first = at.depth.layer == 1;
    if (first) return norma::place().pre(at.norm);
    return norma::place().out(at.norm);
  }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
