// SPDX-License-Identifier: MIT
// The parts of a block as plain loops in double, with nothing of the library's but the weights. Matrices are vectors of
// rows.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "placement_tools.hpp"

namespace plain {

using norma::Index;
using Row = std::vector<double>;
using Matrix = std::vector<Row>;
using Weights = norma::Parameters<double>;

inline Matrix add(Matrix a, const Matrix& b, double scale_a = 1, double scale_b = 1) {
  for (std::size_t r = 0; r < a.size(); ++r)
    for (std::size_t i = 0; i < a[r].size(); ++i) a[r][i] = scale_a * a[r][i] + scale_b * b[r][i];
  return a;
}
inline Matrix scale(Matrix a, double s) { return add(a, a, s, 0); }

/// gamma (x - mean) / sqrt(variance + 1e-5) + beta
inline Matrix layer_norm(const Weights& w, const std::string& name, Matrix x) {
  const auto gamma = w[name + ".gamma"], beta = w[name + ".beta"];
  for (Row& row : x) {
    const double n = static_cast<double>(row.size());
    double mean = 0, variance = 0;
    for (double v : row) mean += v / n;
    for (double v : row) variance += (v - mean) * (v - mean) / n;
    for (std::size_t i = 0; i < row.size(); ++i)
      row[i] = (row[i] - mean) / std::sqrt(variance + 1e-5) * gamma.data()[i] + beta.data()[i];
  }
  return x;
}
/// gamma x / sqrt(mean square + 1e-5)
inline Matrix rms_norm(const Weights& w, const std::string& name, Matrix x) {
  const auto gamma = w[name + ".gamma"];
  for (Row& row : x) {
    double square = 0;
    for (double v : row) square += v * v / static_cast<double>(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = row[i] / std::sqrt(square + 1e-5) * gamma.data()[i];
  }
  return x;
}
/// f on every head of n columns, as a matrix of its own.
template <class F>
Matrix per_head(const Matrix& x, std::size_t n, F f) {
  Matrix y = x;
  for (std::size_t h = 0; h < x[0].size(); h += n) {
    Matrix head;
    for (const Row& row : x)
      head.emplace_back(row.begin() + static_cast<Index>(h), row.begin() + static_cast<Index>(h + n));
    head = f(head);
    for (std::size_t r = 0; r < x.size(); ++r) std::copy(head[r].begin(), head[r].end(), y[r].begin() + Index(h));
  }
  return y;
}
/// x W^T + b, W as [out, in]
inline Matrix linear(const Weights& w, const std::string& name, const Matrix& x) {
  const auto weight = w[name + ".weight"], bias = w[name + ".bias"];
  Matrix y(x.size(), Row(static_cast<std::size_t>(weight.rows())));
  for (std::size_t r = 0; r < x.size(); ++r)
    for (Index o = 0; o < weight.rows(); ++o) {
      double sum = bias.data()[o];
      for (Index i = 0; i < weight.cols(); ++i) sum += weight(o, i) * x[r][static_cast<std::size_t>(i)];
      y[r][static_cast<std::size_t>(o)] = sum;
    }
  return y;
}

struct Network {
  const Weights& weights;
  Index tokens, heads;  // rows are batch x tokens
  bool causal = false;

  Matrix norm(const std::string& name, const Matrix& x) const { return layer_norm(weights, name, x); }

  std::size_t head_dim(const Matrix& x) const { return x[0].size() / static_cast<std::size_t>(heads); }

  /// The heads side by side, before the output projection.
  Matrix heads_of(const std::string& name, const Matrix& x) const {
    return attend(linear(weights, name + ".query", x), linear(weights, name + ".key", x),
                  linear(weights, name + ".value", x), 1 / std::sqrt(static_cast<double>(head_dim(x))));
  }
  Matrix attend(const Matrix& q, const Matrix& k, const Matrix& v, double score_scale) const {
    const std::size_t d = q[0].size(), n = head_dim(q), t = static_cast<std::size_t>(tokens);
    Matrix o(q.size(), Row(d, 0));
    for (std::size_t r = 0; r < q.size(); ++r)
      for (std::size_t h = 0; h < d; h += n) {
        const std::size_t first = r / t * t, count = causal ? r - first + 1 : t;
        Row p(count);
        double sum = 0;
        for (std::size_t j = 0; j < count; ++j) {
          double score = 0;
          for (std::size_t i = h; i < h + n; ++i) score += q[r][i] * k[first + j][i];
          p[j] = std::exp(score * score_scale);
          sum += p[j];
        }
        for (std::size_t j = 0; j < count; ++j)
          for (std::size_t i = h; i < h + n; ++i) o[r][i] += p[j] / sum * v[first + j][i];
      }
    return o;
  }
  Matrix attention(const std::string& layer, const Matrix& x) const {
    return linear(weights, layer + "attention.output", heads_of(layer + "attention", x));
  }
  /// GELU of the up projection.
  Matrix hidden(const std::string& layer, const Matrix& x) const {
    Matrix h = linear(weights, layer + "feed_forward.up", x);
    for (Row& row : h)
      for (double& v : row) v = v * 0.5 * (1 + std::erf(v / std::sqrt(2.0)));
    return h;
  }
  Matrix feed_forward(const std::string& layer, const Matrix& x) const {
    return linear(weights, layer + "feed_forward.down", hidden(layer, x));
  }
};

inline Matrix to_rows(const std::vector<double>& v, Index width) {
  Matrix m;
  for (std::size_t i = 0; i < v.size(); i += static_cast<std::size_t>(width))
    m.emplace_back(v.begin() + static_cast<Index>(i), v.begin() + static_cast<Index>(i) + width);
  return m;
}
inline std::vector<double> flat(const Matrix& m) {
  std::vector<double> v;
  for (const Row& row : m) v.insert(v.end(), row.begin(), row.end());
  return v;
}

inline constexpr norma::Dimensions kDims{12, 3, 10};
inline constexpr norma::Shape kShape{2, 5};
inline constexpr int kLayers = 3;

/// expected(network, x) is the transcription, of three layers.
template <class Policy, class F>
void compare_stack(const Policy& policy, F expected) {
  const norma::Encoder<norma::Block<Policy, double>> net(kDims, kLayers, policy);
  const auto weights = placement::perturbed(net);
  const auto x = placement::noise<double>(kShape.rows() * kDims.width, "x");
  auto workspace = net.workspace(kShape);
  for (const bool causal : {false, true}) {
    const auto y = placement::forward(net, weights, kShape, x, workspace, norma::Call{.causal = causal});
    const Network network{weights, kShape.tokens, kDims.heads, causal};
    EXPECT_LT(placement::difference(y, flat(expected(network, to_rows(x, kDims.width)))), 1e-12) << "causal " << causal;
  }
}
/// The same for the second block of three alone.
template <class Policy, class F>
void compare_block(const Policy& policy, F expected) {
  const norma::Block<Policy, double> net(kDims, {2, kLayers}, policy);
  const auto weights = placement::perturbed(net);
  const auto x = placement::noise<double>(kShape.rows() * kDims.width, "x");
  auto workspace = net.workspace(kShape);
  const auto y = placement::forward(net, weights, kShape, x, workspace);
  const Network network{weights, kShape.tokens, kDims.heads};
  EXPECT_LT(placement::difference(y, flat(expected(network, to_rows(x, kDims.width)))), 1e-12);
}
/// Block after block, named as in a stack.
template <class F>
Matrix blocks(Matrix x, F block) {
  for (int l = 1; l <= kLayers; ++l) x = block("layers." + std::to_string(l - 1) + ".", l, std::move(x));
  return x;
}

inline Matrix pre_ln(const Network& n, const std::string& at, const Matrix& x) {
  const Matrix u = add(x, n.attention(at, n.norm(at + "attention.pre", x)));
  return add(u, n.feed_forward(at, n.norm(at + "feed_forward.pre", u)));
}
/// LN(alpha x + F(x)); Post-LN with alpha = 1.
inline Matrix post_ln(const Network& n, const std::string& at, const Matrix& x, double alpha) {
  const Matrix u = n.norm(at + "attention.out", add(x, n.attention(at, x), alpha));
  return n.norm(at + "feed_forward.out", add(u, n.feed_forward(at, u), alpha));
}

}  // namespace plain
