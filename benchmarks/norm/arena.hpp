// SPDX-License-Identifier: MIT
// The buffers of all rows of the table, in one piece of memory.
#pragma once

#include "../support/memory.hpp"
#include "../support/normal.hpp"
#include "problem.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>

namespace norm_benchmark {

using benchmarks::Memory;
using benchmarks::Normal;

/// Random interleaving moves from shape to shape and back, so setting one up must be cheap: inputs are copies of one
/// table of random numbers, whose length is prime, so that rows differ.
template <class T>
class Inputs {
 public:
  static constexpr Index kLength = 65537;
  enum Kind { kX, kW, kDy, kDs, kSum, kKinds };

  Inputs() {
    Normal normal;
    for (auto& table : tables_) table.resize(static_cast<std::size_t>(kLength));
    for (std::size_t i = 0; i < static_cast<std::size_t>(kLength); ++i) {
      const double x = 0.5 + 1.3 * normal(), w = 0.25 + 0.5 * normal();
      tables_[kX][i] = from_double<T>(x);
      tables_[kW][i] = from_double<T>(w);
      // With a part of x and a mean of its own, so that the gradients of gamma and beta are sums that do not cancel.
      tables_[kDy][i] = from_double<T>(0.25 + 0.25 * x + 0.5 * normal());
      tables_[kDs][i] = from_double<T>(normal());
      tables_[kSum][i] = from_double<T>(to_double(tables_[kX][i]) + to_double(tables_[kW][i]));
    }
  }
  void fill(Kind kind, T* to, Index size) const {
    for (Index i = 0; i < size; i += kLength)
      std::memcpy(to + i, tables_[kind].data(), sizeof(T) * static_cast<std::size_t>((std::min)(kLength, size - i)));
  }

 private:
  std::array<std::vector<T>, kKinds> tables_;
};

/// The one arena. It remembers which inputs it holds, so that repeating a shape costs nothing.
class Arena {
 public:
  template <class T>
  Buffers<T> buffers(const Operation& operation, Extent extent) {
    static const Inputs<T> inputs;
    using P = Parameter<T>;
    const std::size_t size = static_cast<std::size_t>(extent.rows * extent.width);
    const std::size_t width = static_cast<std::size_t>(extent.width);
    constexpr std::size_t kMatrices = 6, kVectors = 4;
    std::size_t at = 0, number = 0;
    // A load waits for earlier stores to the same offset in another page. So starts differ modulo a page, and what is
    // written begins at a lower offset than what is read: else chance, or the allocator, would decide about every row.
    const auto carve = [&](std::size_t bytes) {
      at = (at + 4095) / 4096 * 4096 + 64 * 5 * (kMatrices + kVectors - ++number);
      const std::size_t start = at;
      at += bytes;
      return start;
    };
    std::array<std::size_t, kMatrices> matrix{};
    for (auto& m : matrix) m = carve(size * sizeof(T));
    std::array<std::size_t, kVectors> vector{};
    for (auto& v : vector) v = carve(width * sizeof(P));
    if (memory_.bytes() < at) {
      memory_ = Memory();
      memory_ = Memory(at);
      std::memset(memory_.data(), 0, at);  // every page is there before anything is timed
      valid_ = {};
    }
    const auto t = [&](std::size_t i) { return reinterpret_cast<T*>(memory_.data() + matrix[i]); };
    const auto p = [&](std::size_t i) { return reinterpret_cast<P*>(memory_.data() + vector[i]); };
    if (type_ != kTypeName<T> || extent_.rows != extent.rows || extent_.width != extent.width) {
      valid_ = {};
      type_ = kTypeName<T>;
      extent_ = extent;
      for (std::size_t i = 0; i < width; ++i) {
        p(0)[i] = static_cast<P>(1 + 0.25 * std::cos(static_cast<double>(i)));
        p(1)[i] = static_cast<P>(0.25 * std::sin(static_cast<double>(i)));
      }
    }
    const auto need = [&](typename Inputs<T>::Kind kind, std::size_t i) {
      if (!valid_[kind]) inputs.fill(kind, t(i), static_cast<Index>(size));
      valid_[kind] = true;
    };
    const bool stored_sum = operation.residual && !operation.forward();
    if (!stored_sum) need(Inputs<T>::kX, 0);
    if (operation.residual && operation.forward()) need(Inputs<T>::kW, 1);
    if (!operation.forward()) need(Inputs<T>::kDy, 2);
    if (stored_sum) need(Inputs<T>::kDs, 3);
    if (stored_sum) need(Inputs<T>::kSum, 4);
    if (operation.residual && operation.forward()) valid_[Inputs<T>::kSum] = false;  // written by the call
    std::memset(p(2), 0, width * sizeof(P));
    std::memset(p(3), 0, width * sizeof(P));
    return {.extent = extent,
            .x = t(0),
            .w = t(1),
            .input = stored_sum ? t(4) : t(0),
            .dy = t(2),
            .ds = t(3),
            .gamma = p(0),
            .beta = p(1),
            .y = t(5),
            .s = t(4),
            .dx = t(5),
            .dgamma = p(2),
            .dbeta = p(3)};
  }

 private:
  Memory memory_;
  std::string type_;
  Extent extent_{0, 0};
  std::array<bool, 5> valid_{};
};

}  // namespace norm_benchmark
