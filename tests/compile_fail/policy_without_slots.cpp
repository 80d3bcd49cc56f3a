// SPDX-License-Identifier: MIT
// error: norma: a policy has `auto slots.auto at. const`
// What has no slots(at) is no policy.
#include <norma/norma.hpp>

struct Policy {
  auto slot(auto at) const { return norma::place().pre(at.norm); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
