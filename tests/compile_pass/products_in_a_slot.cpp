// SPDX-License-Identifier: MIT
// The control of compile_fail/products_in_a_slot.cpp.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const {
    return norma::place().out(norma::when(true, norma::then(norma::Identity<float>(), at.norm)));
  }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
