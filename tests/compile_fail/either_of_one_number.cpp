// SPDX-License-Identifier: MIT
// error: norma: either\(\) of two placements of which one alone sets
// A number cannot be absent, so both tables set it or neither does.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const {
    const auto table = norma::place().head_scale(at.only(norma::attention, 1.0));
    return either(at.depth.layer == 1, table, norma::place());
  }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
