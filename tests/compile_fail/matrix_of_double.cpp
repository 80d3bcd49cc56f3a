// SPDX-License-Identifier: MIT
// error: norma: the matrix's scalar type is not the block's
// A matrix of double for a block of float.
#include <norma/norma.hpp>

using Block = norma::Block<norma::PreLN>;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
void run(const Block& block, const norma::Parameters<float>& weights, norma::Workspace& workspace, const Matrix& x,
         Matrix& y) {
  block.forward(weights, x, y, workspace);
}
