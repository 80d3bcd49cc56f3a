// SPDX-License-Identifier: MIT
// error: norma: matrices are row-major, one row per token; declare yours with Eigen::RowMajor
// Eigen's default layout.
#include <norma/norma.hpp>

using Block = norma::Block<norma::PreLN>;

void run(const Block& block, const norma::Parameters<float>& weights, norma::Workspace& workspace,
         const Eigen::MatrixXf& x, Eigen::MatrixXf& y) {
  block.forward(weights, x, y, workspace);
}
