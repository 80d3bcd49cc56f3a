// SPDX-License-Identifier: MIT
// The control of compile_fail/either_of_one_number.cpp.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const {
    const auto table = norma::place().head_scale(at.only(norma::attention, 1.0));
    return either(at.depth.layer == 1, table, table.out(at.norm));
  }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
