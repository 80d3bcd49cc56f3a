// SPDX-License-Identifier: MIT
// error: norma: queries and keys are normed per head or all heads together
// Queries are normed per head or all heads together.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const {
    return norma::place().query(at.only(norma::attention, at.norm)).whole_query(at.only(norma::attention, at.norm));
  }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
