// SPDX-License-Identifier: MIT
// error: norma: either\(\) of two placements whose streams have other numbers of parts
// A stream has as many parts in every block.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const {
    return either(at.depth.layer == 1, norma::ResiDual{}.slots(at), norma::PreLN{}.slots(at));
  }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
