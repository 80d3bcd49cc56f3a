// SPDX-License-Identifier: MIT
// error: [Cc]onstraint.*Block
// slots(at) returns place() with its slots filled.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const { return at.norm; }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
