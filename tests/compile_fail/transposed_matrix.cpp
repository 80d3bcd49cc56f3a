// SPDX-License-Identifier: MIT
// error: norma: matrices are row-major, one row per token; declare yours with Eigen::RowMajor
// A row-major matrix turned over: the elements of a row lie apart (E01).
#include <norma/norma.hpp>

using Block = norma::Block<norma::PreLN>;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
void run(const Block& block, const norma::Parameters<float>& weights, norma::Workspace& workspace, const Matrix& x,
         Matrix& y) {
  block.forward(weights, x.transpose(), y, workspace);
}
