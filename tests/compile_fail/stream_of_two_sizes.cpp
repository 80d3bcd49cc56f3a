// SPDX-License-Identifier: MIT
// error: norma: a policy's stream has the same number of parts at every role
// A stream has the same parts at every role.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const {
    if constexpr (at.role == norma::Role::attention)
      return norma::place<2>().close(at.norm);
    else
      return norma::place().close(at.norm);
  }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
