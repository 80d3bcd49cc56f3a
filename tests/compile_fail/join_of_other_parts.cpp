// SPDX-License-Identifier: MIT
// error: norma: slot join takes a Join for as many parts as the stream has
// A join for one part does not join a stream of two.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const { return norma::place<2>().join(norma::scaled_skip(2)).close(at.norm); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
