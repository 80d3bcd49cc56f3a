// SPDX-License-Identifier: MIT
// The control of compile_fail/feed_forward_as_attention.cpp.
#include <norma/norma.hpp>

const norma::Block<norma::PreLN, float, norma::LayerNorm, norma::Attention, norma::SwiGLU> block({.width = 12,
                                                                                                  .heads = 3});
