// SPDX-License-Identifier: MIT
// Eigen: its product, and a small PreLN block as a user would write it in matrices and expressions.
#include "numbers.hpp"
#include "problem.hpp"

#include <Eigen/Core>

#include <cmath>
#include <memory>

namespace block_benchmark {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Row1 = Eigen::Matrix<float, 1, Eigen::Dynamic>;
using ConstMap = Eigen::Map<const Matrix>;

std::function<void()> product(const Product& p, int threads) {
  Eigen::setNbThreads(threads);
  return [p] {
    Eigen::Map<Matrix> c(p.c, p.m, p.n);
    if (p.a_transposed)
      c.noalias() = ConstMap(p.a, p.k, p.m).transpose() * ConstMap(p.b, p.k, p.n);
    else if (p.b_transposed)
      c.noalias() = ConstMap(p.a, p.m, p.k) * ConstMap(p.b, p.n, p.k).transpose();
    else
      c.noalias() = ConstMap(p.a, p.m, p.k) * ConstMap(p.b, p.k, p.n);
  };
}

Matrix matrix(const std::string& name, Index rows, Index columns) {
  Matrix m(rows, columns);
  fill(name, m.data(), rows, columns);
  return m;
}

struct Linear {
  Linear(const std::string& name, Index in, Index out)
      : weight(matrix(name + ".weight", out, in)), bias(matrix(name + ".bias", 1, out)) {}
  void operator()(const Matrix& x, Matrix& y) const {
    y.noalias() = x * weight.transpose();
    y.rowwise() += bias;
  }
  Matrix weight;
  Row1 bias;
};

struct Norm {
  Norm(const std::string& name, Index width)
      : gamma(matrix(name + ".gamma", 1, width)), beta(matrix(name + ".beta", 1, width)) {}
  void operator()(const Matrix& x, Matrix& y) const {
    y.resizeLike(x);
    for (Index r = 0; r < x.rows(); ++r) {
      const float mean = x.row(r).mean();
      y.row(r).array() = x.row(r).array() - mean;
      const float rstd =
          1 / std::sqrt(y.row(r).squaredNorm() / static_cast<float>(x.cols()) + static_cast<float>(kEps));
      y.row(r).array() = y.row(r).array() * rstd * gamma.array() + beta.array();
    }
  }
  Row1 gamma, beta;
};

/// Of one sequence. Every intermediate is a member, so that nothing is allocated but by Eigen's product itself.
class Block {
 public:
  explicit Block(const Extent& e)
      : heads_(e.heads),
        norm1_("attention.pre", e.width),
        norm2_("feed_forward.pre", e.width),
        query_("attention.query", e.width, e.width),
        key_("attention.key", e.width, e.width),
        value_("attention.value", e.width, e.width),
        output_("attention.output", e.width, e.width),
        up_("feed_forward.up", e.width, e.hidden),
        down_("feed_forward.down", e.hidden, e.width),
        x_(matrix("x", e.rows(), e.width)),
        mixed_(e.rows(), e.width) {}
  void forward() {
    norm1_(x_, n_);
    query_(n_, q_);
    key_(n_, k_);
    value_(n_, v_);
    const Index d = x_.cols() / heads_;
    for (Index h = 0; h < heads_; ++h) {
      scores_.noalias() = q_.middleCols(h * d, d) * k_.middleCols(h * d, d).transpose();
      scores_ /= std::sqrt(static_cast<float>(d));
      for (Index r = 0; r < scores_.rows(); ++r) {
        scores_.row(r).array() = (scores_.row(r).array() - scores_.row(r).maxCoeff()).exp();
        scores_.row(r) /= scores_.row(r).sum();
      }
      mixed_.middleCols(h * d, d).noalias() = scores_ * v_.middleCols(h * d, d);
    }
    output_(mixed_, y_);
    y_ += x_;
    norm2_(y_, n_);
    up_(n_, hidden_);
    // Eigen 3.4 has no vectorised erf in its core module.
    hidden_ = hidden_.unaryExpr([](float v) { return 0.5f * v * (1 + std::erf(v * 0.70710678f)); });
    down_(hidden_, branch_);
    y_ += branch_;
  }
  Tensors<float> results() const { return {{"y", {y_.data(), y_.data() + y_.size()}}}; }

 private:
  Index heads_;
  Norm norm1_, norm2_;
  Linear query_, key_, value_, output_, up_, down_;
  Matrix x_, n_, q_, k_, v_, scores_, mixed_, y_, hidden_, branch_;
};

}  // namespace

void add_eigen(std::vector<Row>& rows, std::string& header) {
  add_products(rows, "eigen", product);
  for (const Extent& extent : kSmallExtents)
    rows.push_back({"small_block_forward", "eigen", "PreLN", 1, extent.name(), extent.forward_flop(), [extent] {
                      Eigen::setNbThreads(1);
                      const auto block = std::make_shared<Block>(extent);
                      return Job{[block] { block->forward(); },
                                 [block, extent] { return wrong(block->results(), "PreLN", extent, false); }};
                    }});
  header += "eigen: " + std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
            std::to_string(EIGEN_MINOR_VERSION) + ", " + Eigen::SimdInstructionSetsInUse() + "; 2 threads: OpenMP\n";
}

}  // namespace block_benchmark
