// SPDX-License-Identifier: MIT
// error: norma: a stream of several matrices needs a close\(\)
// Two matrices do not become one by themselves.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const { return norma::place<2>().pre(at.norm); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
