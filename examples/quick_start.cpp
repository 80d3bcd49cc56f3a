// SPDX-License-Identifier: MIT
#include <norma/norma.hpp>
#include <unsupported/Eigen/CXX11/Tensor>

#include <cmath>
#include <cstdio>

int main() {
  using Block = norma::Block<norma::DeepNorm>;  // or PreLN, PostLN, or a placement of your own

  Block block({.width = 256, .heads = 4, .hidden = 1024}, {.layer = 1, .layers = 12});
  auto weights = block.initialize(norma::Rng(42));                // DeepNorm's beta is applied here
  auto gradients = block.gradients();                             // same layout as weights, zero
  auto workspace = block.workspace({.batch = 2, .tokens = 128});  // all memory, planned once

  Eigen::Tensor<float, 3, Eigen::RowMajor> x(2, 128, 256), y(2, 128, 256), dy(2, 128, 256), dx(2, 128, 256);
  x.setRandom();
  dy.setRandom();
  block.forward(weights, x, y, workspace);
  block.backward(weights, x, dy, dx, gradients, workspace);

  std::printf("%td parameters, %td bytes of workspace\n", weights.count(), workspace.bytes());
  for (const char* name : {"attention.query.weight", "attention.output.weight", "feed_forward.up.weight"})
    std::printf("%-24s |w| = %7.3f   |dw| = %7.3f\n", name, weights[name].norm(), gradients[name].norm());
  return std::isfinite(gradients["attention.query.weight"].norm()) ? 0 : 1;
}
