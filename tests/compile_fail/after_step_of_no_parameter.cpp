// SPDX-License-Identifier: MIT
// error: norma: after_step takes a function
// A hook takes info and values.
#include <norma/norma.hpp>

struct Hook {
  void operator()() const {}
};
struct Policy {
  auto slots(auto at) const { return norma::place().pre(at.norm).after_step(Hook{}); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
