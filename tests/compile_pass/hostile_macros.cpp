// SPDX-License-Identifier: MIT
// Short macros of other headers (windows.h, complex.h, Arduino.h, test frameworks) come between Eigen and norma.
#include <Eigen/Dense>
#include <unsupported/Eigen/CXX11/Tensor>

#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define near
#define far
#define small char
#define B2 2
#define N 42
#define I 1.0i
#define info "info"
#define check(condition) static_assert(condition)

#include <norma/norma.hpp>
#include <norma/testing/allocation_counter.hpp>
#include <norma/testing/conformance.hpp>
#include <norma/testing/gradient_check.hpp>

// The macros are still the user's.
static_assert(min(1, 2) == 1 && max(1, 2) == 2 && N == 42 && B2 == 2);

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
