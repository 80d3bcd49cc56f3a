// SPDX-License-Identifier: MIT
// The names of the standard library, let loose before norma comes.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <ranges>
#include <span>
#include <string>
#include <vector>

using namespace std;

#include <Eigen/Dense>
#include <unsupported/Eigen/CXX11/Tensor>

#include <norma/norma.hpp>
#include <norma/testing/allocation_counter.hpp>
#include <norma/testing/conformance.hpp>
#include <norma/testing/gradient_check.hpp>

void use() {
  norma::Encoder<norma::Block<norma::DeepNorm, float, norma::RMSNorm, norma::Attention, norma::SwiGLU>> stack(
      {.width = 12, .heads = 3}, 2);
  const auto weights = stack.initialize(norma::Rng(1));
  auto gradients = stack.gradients();
  auto workspace = stack.workspace({.batch = 1, .tokens = 5});
  Eigen::Tensor<float, 3, Eigen::RowMajor> x(1, 5, 12), y(1, 5, 12);
  stack.forward(weights, x, y, workspace);
  stack.backward(weights, x, y, y, gradients, workspace);
}
