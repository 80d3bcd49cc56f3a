// SPDX-License-Identifier: MIT
// A user's program: one block forward and backward. Prints a checksum; ends with 1 unless the gradient is that of the
// output.
#include <norma/norma.hpp>

#include <cmath>
#include <cstdio>

int main() {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const norma::Block<norma::PreLN> block({.width = 16, .heads = 2, .hidden = 24}, {.layer = 1, .layers = 2});
  const auto weights = block.initialize(norma::Rng(42));
  auto gradients = block.gradients();
  auto workspace = block.workspace({.batch = 1, .tokens = 5});

  Matrix x(5, 16), y(5, 16), dx(5, 16);
  for (int i = 0; i < x.size(); ++i) x.data()[i] = std::sin(1.0f + 3.0f * static_cast<float>(i));
  block.forward(weights, x, y, workspace, {.causal = true});
  const Matrix dy = y;  // the loss is half the sum of squares of y
  block.backward(weights, x, dy, dx, gradients, workspace);

  const float step = 1e-2f;
  const Matrix before = x - step * dx / dx.norm(), after = x + step * dx / dx.norm();
  block.forward(weights, before, y, workspace, {.causal = true});
  const double low = y.cast<double>().squaredNorm() / 2;
  block.forward(weights, after, y, workspace, {.causal = true});
  const double high = y.cast<double>().squaredNorm() / 2;
  const double numeric = (high - low) / (2 * static_cast<double>(step)), analytic = static_cast<double>(dx.norm());

  std::printf("norma %d.%d.%d, checksum %.6f\n", norma::version.major, norma::version.minor, norma::version.patch,
              static_cast<double>(dy.sum() + dx.sum() + gradients["attention.query.weight"].sum()));
  return std::fabs(numeric - analytic) < 1e-3 * analytic ? 0 : 1;
}
