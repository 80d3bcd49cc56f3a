// SPDX-License-Identifier: MIT
// The umbrella and one float block, forward and backward.
#include <norma/norma.hpp>

void step(const norma::Block<norma::DeepNorm>& block, const norma::Parameters<float>& weights,
          const norma::TensorView<float>& x, const norma::TensorView<float>& y, norma::Parameters<float>& gradients,
          norma::Workspace& workspace) {
  block.forward(weights, x, y, workspace);
  block.backward(weights, x, y, y, gradients, workspace);
}

norma::Block<norma::DeepNorm> make() { return norma::Block<norma::DeepNorm>({.width = 256, .heads = 4}); }
