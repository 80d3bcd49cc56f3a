// SPDX-License-Identifier: MIT
// The control of compile_fail/inner_entry_not_taken.cpp.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const { return norma::place().gate(at.only(norma::feed_forward, norma::Scale{2})); }
};

const norma::Block<Policy, float, norma::LayerNorm, norma::Attention, norma::SwiGLU> block({.width = 12, .heads = 3});
