// SPDX-License-Identifier: MIT
// error: norma: an output may not be const
// Nobody can write there.
#include <norma/norma.hpp>

using Block = norma::Block<norma::PreLN>;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
void run(const Block& block, const norma::Parameters<float>& weights, norma::Workspace& workspace, const Matrix& x,
         const Matrix& y) {
  block.forward(weights, x, y, workspace);
}
