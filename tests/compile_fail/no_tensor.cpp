// SPDX-License-Identifier: MIT
// error: norma: pass an Eigen tensor or matrix \(Tensor, TensorMap, Matrix, Map\), not an expression
// A pointer has no shape.
#include <norma/norma.hpp>

using Block = norma::Block<norma::PreLN>;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
void run(const Block& block, const norma::Parameters<float>& weights, norma::Workspace& workspace, const float* x,
         Matrix& y) {
  block.forward(weights, x, y, workspace);
}
