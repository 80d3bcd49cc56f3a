// SPDX-License-Identifier: MIT
// The control of compile_fail/tensor_of_rank_4.cpp.
#include <norma/norma.hpp>
#include <unsupported/Eigen/CXX11/Tensor>

using Block = norma::Block<norma::PreLN>;
using Tensor = Eigen::Tensor<float, 2, Eigen::RowMajor>;
void run(const Block& block, const norma::Parameters<float>& weights, norma::Workspace& workspace, const Tensor& x,
         Tensor& y) {
  block.forward(weights, x, y, workspace);
}
