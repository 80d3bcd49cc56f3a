// SPDX-License-Identifier: MIT
// error: norma: tensors are row-major; declare yours as Eigen::Tensor<T, 3, Eigen::RowMajor>
// Eigen's default layout.
#include <norma/norma.hpp>
#include <unsupported/Eigen/CXX11/Tensor>

using Block = norma::Block<norma::PreLN>;
using Tensor = Eigen::Tensor<float, 3>;
void run(const Block& block, const norma::Parameters<float>& weights, norma::Workspace& workspace, const Tensor& x,
         Tensor& y) {
  block.forward(weights, x, y, workspace);
}
