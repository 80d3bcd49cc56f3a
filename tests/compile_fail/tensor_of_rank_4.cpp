// SPDX-License-Identifier: MIT
// error: norma: a tensor has rank 3 \[batch, tokens, width\] or rank 2 \[tokens, width\]
// A rank that means nothing here.
#include <norma/norma.hpp>
#include <unsupported/Eigen/CXX11/Tensor>

using Block = norma::Block<norma::PreLN>;
using Tensor = Eigen::Tensor<float, 4, Eigen::RowMajor>;
void run(const Block& block, const norma::Parameters<float>& weights, norma::Workspace& workspace, const Tensor& x,
         Tensor& y) {
  block.forward(weights, x, y, workspace);
}
