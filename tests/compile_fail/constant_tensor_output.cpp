// SPDX-License-Identifier: MIT
// error: norma: an output may not be const
// Nobody can write there.
#include <norma/norma.hpp>
#include <unsupported/Eigen/CXX11/Tensor>

using Block = norma::Block<norma::PreLN>;
using Tensor = Eigen::Tensor<float, 3, Eigen::RowMajor>;
void run(const Block& block, const norma::Parameters<float>& weights, norma::Workspace& workspace, const Tensor& x,
         const Tensor& y) {
  block.forward(weights, x, y, workspace);
}
