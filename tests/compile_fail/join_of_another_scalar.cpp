// SPDX-License-Identifier: MIT
// error: norma: slot join has a join of another scalar type than the block
// A gate of double in a block of float.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto) const { return norma::place().join(norma::ScalarGate<double>(0)); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
