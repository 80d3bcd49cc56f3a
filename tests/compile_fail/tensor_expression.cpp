// SPDX-License-Identifier: MIT
// error: norma: pass an Eigen tensor or matrix \(Tensor, TensorMap, Matrix, Map\), not an expression
// An expression has no memory.
#include <norma/norma.hpp>
#include <unsupported/Eigen/CXX11/Tensor>

using Block = norma::Block<norma::PreLN>;
using Tensor = Eigen::Tensor<float, 3, Eigen::RowMajor>;
void run(const Block& block, const norma::Parameters<float>& weights, norma::Workspace& workspace, const Tensor& x,
         Tensor& y) {
  block.forward(weights, x + x, y, workspace);
}
