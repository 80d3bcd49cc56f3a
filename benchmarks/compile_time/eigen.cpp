// SPDX-License-Identifier: MIT
// The yardstick: Eigen/Dense and one dynamic matrix product.
#include <Eigen/Dense>

void product(const Eigen::MatrixXf& a, const Eigen::MatrixXf& b, Eigen::MatrixXf& c) { c.noalias() = a * b; }
