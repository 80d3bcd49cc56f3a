// SPDX-License-Identifier: MIT
// The control of compile_fail/tensor_of_double.cpp.
#include <norma/norma.hpp>
#include <unsupported/Eigen/CXX11/Tensor>

using Block = norma::Block<norma::PreLN, double>;
using Tensor = Eigen::Tensor<double, 3, Eigen::RowMajor>;
void run(const Block& block, const norma::Parameters<double>& weights, norma::Workspace& workspace, const Tensor& x,
         Tensor& y) {
  block.forward(weights, x, y, workspace);
}
