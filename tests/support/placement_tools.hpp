// SPDX-License-Identifier: MIT
// Passes of whole networks over random data, for the tests of placements.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <norma/norma.hpp>

namespace placement {

using norma::Depth;
using norma::Dimensions;
using norma::Index;
using norma::Parameters;
using norma::Rng;
using norma::Shape;
using norma::TensorView;
using norma::Workspace;

/// Standard normal values; the same for float and double up to rounding.
template <class T>
std::vector<T> noise(Index n, const char* name) {
  std::vector<T> v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<T>(Rng(11).stream(name).normal(i));
  return v;
}
template <class T>
TensorView<T> tensor(std::vector<T>& v, Shape shape) {
  return {shape, {v.data(), shape.rows(), static_cast<Index>(v.size()) / shape.rows()}};
}
template <class T>
TensorView<const T> tensor(const std::vector<T>& v, Shape shape) {
  return {shape, {v.data(), shape.rows(), static_cast<Index>(v.size()) / shape.rows()}};
}

/// Weights away from their initial values, so that no gamma is one, no gate and no bias zero.
template <class Net>
Parameters<typename Net::T> perturbed(const Net& net, double amount = 0.3) {
  using T = typename Net::T;
  auto weights = net.initialize(Rng(5));
  weights.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    const Rng rng = Rng(6).stream(info.name);
    for (Index i = 0; i < map.size(); ++i)
      map.data()[i] += static_cast<T>(amount * rng.normal(static_cast<std::uint64_t>(i)));
  });
  return weights;
}

template <class T>
struct Result {
  std::vector<T> y, dx, gradients;
};
/// Equal to the last bit.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}
template <class T>
bool same_bits(const Result<T>& a, const Result<T>& b) {
  return same_bits(a.y, b.y) && same_bits(a.dx, b.dx) && same_bits(a.gradients, b.gradients);
}

template <class Net, class T = typename Net::T, class... CallArgument>
std::vector<T> forward(const Net& net, const Parameters<T>& weights, Shape shape, const std::vector<T>& x,
                       Workspace& workspace, const CallArgument&... call) {
  std::vector<T> y(x.size());
  net.forward(weights, tensor(x, shape), tensor(y, shape), workspace, call...);
  return y;
}
template <class Net, class T = typename Net::T, class... CallArgument>
Result<T> run(const Net& net, const Parameters<T>& weights, Shape shape, const std::vector<T>& x,
              const std::vector<T>& dy, Workspace& workspace, const CallArgument&... call) {
  Result<T> r{std::vector<T>(x.size()), std::vector<T>(x.size(), T(7)), {}};
  net.forward(weights, tensor(x, shape), tensor(r.y, shape), workspace, call...);
  auto gradients = net.gradients();
  net.backward(weights, tensor(x, shape), tensor(dy, shape), tensor(r.dx, shape), gradients, workspace);
  r.gradients.assign(gradients.flat().begin(), gradients.flat().end());
  return r;
}
/// Forward and backward on random data in a workspace of its own.
template <class Net, class T = typename Net::T, class... CallArgument>
Result<T> run(const Net& net, const Parameters<T>& weights, Shape shape, Index width, const CallArgument&... call) {
  auto workspace = net.workspace(shape);
  return run(net, weights, shape, noise<T>(shape.rows() * width, "x"), noise<T>(shape.rows() * width, "dy"), workspace,
             call...);
}

/// Rows [first, first + count) of a matrix of `width` columns.
template <class T>
std::vector<T> rows(const std::vector<T>& v, Index first, Index count, Index width) {
  const auto begin = v.begin() + first * width;
  return std::vector<T>(begin, begin + count * width);
}

/// max |a - b| / max |b|; NaN counts as a difference.
template <class A, class B>
double difference(const std::vector<A>& a, const std::vector<B>& b) {
  double worst = a.size() == b.size() ? 0 : 1e300, largest = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double d = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(d <= worst)) worst = d;
    largest = std::max(largest, std::fabs(static_cast<double>(b[i])));
  }
  return largest > 0 ? worst / largest : worst;
}

}  // namespace placement
