// SPDX-License-Identifier: MIT
// What the tests of the public surface share: numbers to compute with, comparison of bits, and errors by their message.
#pragma once

#include <cstring>
#include <norma/norma.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace surface {

using norma::Index;
using norma::Shape;
using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// `count` normal numbers, the same for the same name.
inline std::vector<float> numbers(Index count, std::string_view name) {
  std::vector<float> v(static_cast<std::size_t>(count));
  const norma::Rng rng = norma::Rng(5).stream(name);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(rng.normal(i));
  return v;
}
inline norma::TensorView<const float> view(const std::vector<float>& v, Shape s, Index width) {
  return {s, {v.data(), s.rows(), width}};
}
inline norma::TensorView<float> view(std::vector<float>& v, Shape s, Index width) {
  return {s, {v.data(), s.rows(), width}};
}

inline bool same_bits(const float* a, const float* b, std::size_t count) {
  return count == 0 || std::memcmp(a, b, count * sizeof(float)) == 0;
}
inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && same_bits(a.data(), b.data(), a.size());
}
inline bool same_bits(const norma::Parameters<float>& a, const norma::Parameters<float>& b) {
  return a.size() == b.size() && same_bits(a.data(), b.data(), static_cast<std::size_t>(a.size()));
}

/// Weights of a network, biases and gammas moved away from 0 and 1, so that leaving one out shows.
template <class Net>
norma::Parameters<float> some_weights(const Net& net) {
  auto weights = net.initialize(norma::Rng(9));
  weights.for_each_parameter([](const norma::ParameterInfo& info, auto map) {
    const auto noise = numbers(map.size(), info.name);
    for (Index i = 0; i < map.size(); ++i) map.data()[i] += 0.1f * noise[static_cast<std::size_t>(i)];
  });
  return weights;
}

/// The message of the Error that f() throws; empty if it throws none.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const norma::Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace surface
