// SPDX-License-Identifier: MIT
// The control of compile_fail/matrix_expression.cpp.
#include <norma/norma.hpp>

using Block = norma::Block<norma::PreLN>;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
void run(const Block& block, const norma::Parameters<float>& weights, norma::Workspace& workspace, const Matrix& x,
         Matrix& y) {
  block.forward(weights, (2 * x).eval(), y, workspace);
}
