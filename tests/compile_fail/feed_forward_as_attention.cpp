// SPDX-License-Identifier: MIT
// error: norma: a sublayer stands in the place of another role
#include <norma/norma.hpp>

const norma::Block<norma::PreLN, float, norma::LayerNorm, norma::SwiGLU> block({.width = 12, .heads = 3});
