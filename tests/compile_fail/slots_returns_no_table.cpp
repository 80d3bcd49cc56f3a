// SPDX-License-Identifier: MIT
// error: norma: a policy has `auto slots.auto at. const`
// slots(at) returns place() with its slots filled.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const { return at.norm; }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
