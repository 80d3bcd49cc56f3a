// SPDX-License-Identifier: MIT
// The control of compile_fail/constant_map_output.cpp.
#include <norma/norma.hpp>

using Block = norma::Block<norma::PreLN>;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
void run(const Block& block, const norma::Parameters<float>& weights, norma::Workspace& workspace, const Matrix& x,
         float* y) {
  block.forward(weights, x, Eigen::Map<Matrix>(y, 4, 12), workspace);
}
