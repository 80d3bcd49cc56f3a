// SPDX-License-Identifier: MIT
// error: norma: slots work in place, which a module of products \(Linear, Attention\) cannot
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const {
    return norma::place().out(norma::when(true, norma::then(norma::Linear<float>(12, norma::Kind::up), at.norm)));
  }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
