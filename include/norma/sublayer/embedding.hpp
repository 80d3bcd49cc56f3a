// SPDX-License-Identifier: MIT
#pragma once

#include <norma/core/module.hpp>

#include <string>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// Token ids to rows of a table. Parameter: weight [vocabulary, width]. The index type is any integer.
template <class T>
class Embedding {
 public:
  using Scalar = T;

  explicit Embedding(Index vocabulary = 0) : vocabulary_(vocabulary) {}

  void declare(Layout& layout, Index width) { weight_ = layout.add("weight", vocabulary_, width, Kind::embedding); }

  /// y_r = weight[id_r]. ids: [rows], each in [0, vocabulary).
  template <class Id>
  void forward(const T* weights, const Id* ids, MatrixView<T> y) const {
    for (Index r = 0; r < y.rows; ++r)
      std::copy_n(weight_.in(weights).row(static_cast<Index>(ids[r])), y.columns, y.row(r));
  }
  /// Adds row r of dy to the gradient of row id_r, in the order of rows.
  template <class Id>
  void backward(const Id* ids, MatrixView<const T> dy, T* gradients) const {
    for (Index r = 0; r < dy.rows; ++r) {
      T* to = weight_.in(gradients).row(static_cast<Index>(ids[r]));
      for (Index i = 0; i < dy.columns; ++i) to[i] += dy.row(r)[i];
    }
  }
  /// Of `count` ids from `first` on. \throws Error for one outside the vocabulary, naming it.
  template <class Id>
  void validate(const char* name, const Id* ids, Index count, Index first = 0) const {
    for (Index r = first; r < first + count; ++r)
      if (static_cast<Index>(ids[r]) < 0 || static_cast<Index>(ids[r]) >= vocabulary_)
        fail(std::string(name) + "[" + std::to_string(r) + "] is " + std::to_string(static_cast<long long>(ids[r])) +
             ", wanted 0 to " + std::to_string(vocabulary_ - 1));
  }

  const Parameter& weight() const { return weight_; }

 private:
  Index vocabulary_;
  Parameter weight_{};
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
