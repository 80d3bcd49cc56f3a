// SPDX-License-Identifier: MIT
// The control of compile_fail/activation_argument_named_twice.cpp.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const {
    return norma::place()
        .hidden(at.only(norma::feed_forward, at.norm))
        .before_activation(at.only(norma::feed_forward, at.norm));
  }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
