// SPDX-License-Identifier: MIT
// The control of compile_fail/query_per_head_and_whole.cpp.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const {
    return norma::place().query(at.only(norma::attention, at.norm)).whole_key(at.only(norma::attention, at.norm));
  }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
