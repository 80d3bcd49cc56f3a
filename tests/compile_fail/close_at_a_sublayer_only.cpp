// SPDX-License-Identifier: MIT
// error: norma: open, close, logits, after_step and per_block are read at Role::ends
// What closes a stack is asked for at its ends; said elsewhere alone, it would be lost.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const {
    const auto table = norma::place().pre(at.norm);
    if constexpr (at.role == norma::Role::attention)
      return table.close(at.norm);
    else
      return table;
  }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
