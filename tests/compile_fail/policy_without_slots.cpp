// SPDX-License-Identifier: MIT
// error: [Cc]onstraint.*Block
// What has no slots(at) is no policy.
#include <norma/norma.hpp>

struct Policy {
  auto slot(auto at) const { return norma::place().pre(at.norm); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
