// SPDX-License-Identifier: MIT
// The control of compile_fail/module_as_join.cpp.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto) const { return norma::place().join(norma::scaled_skip(2)); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
