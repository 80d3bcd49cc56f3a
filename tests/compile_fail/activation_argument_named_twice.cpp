// SPDX-License-Identifier: MIT
// error: norma: before_activation and the slot of its projection are one place
// Without a gate, the activation acts on the up projection.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const {
    return norma::place()
        .up(at.only(norma::feed_forward, at.norm))
        .before_activation(at.only(norma::feed_forward, at.norm));
  }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
