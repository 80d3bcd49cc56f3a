// SPDX-License-Identifier: MIT
// error: norma: slot join takes a Join for as many parts as the stream has
// A module is no join.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const { return norma::place().join(at.norm); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
