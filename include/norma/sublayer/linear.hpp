// SPDX-License-Identifier: MIT
#pragma once

#include <norma/core/module.hpp>
#include <norma/kernels/elementwise.hpp>
#include <norma/kernels/gemm.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// y = x W^T + b. Parameters: weight [out, in], as checkpoints store it, and bias [out] = 0. Takes any number of rows.
template <class T>
class Linear {
 public:
  using Scalar = T;
  static constexpr bool needs_x = true;

  struct Tape {
    T* packing = nullptr;
    kernels::ColumnSums<T> sums;
  };

  Linear() = default;
  /// `width` of the input comes with declare.
  Linear(Index outputs, Kind kind, bool with_bias = true) : outputs_(outputs), kind_(kind), with_bias_(with_bias) {}

  void declare(Layout& layout, Index width) {
    weight_ = layout.add("weight", outputs_, width, kind_);
    if (with_bias_) bias_ = layout.add("bias", 1, outputs_, Kind::bias, constant(0));
  }
  /// Uses another module's matrix as its weight: a head tied to an embedding. No bias.
  void tie(const Parameter& weight) {
    weight_ = weight;
    outputs_ = weight.rows;
    with_bias_ = false;
  }
  Tape plan(Plan& p, const Pass& pass) const {
    const Index rows = pass.shape.rows(), in = weight_.columns, out = outputs_;
    Index packing = kernels::gemm_scratch<T>(rows, out, in);
    if (p.training())
      packing = std::max({packing, kernels::gemm_scratch<T>(out, in, rows), kernels::gemm_scratch<T>(rows, in, out)});
    Tape tape;
    tape.packing = p.scratch<T>(1, packing).data;
    if (with_bias_) tape.sums = kernels::ColumnSums<T>::plan(p, out);
    return tape;
  }
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& tape) const {
    if (with_bias_) kernels::broadcast_row(bias_.in(weights).data, y);
    kernels::gemm(kernels::plain(x), kernels::transposed(weight_.in(weights)), y, with_bias_ ? Write::add : Write::assign,
                  tape.packing);
  }
  /// dx must not overlap dy: a product cannot work in place.
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write, T* gradients,
                const Tape& tape) const {
    kernels::gemm(kernels::transposed(dy), kernels::plain(x), weight_.in(gradients), Write::add, tape.packing);
    if (with_bias_) kernels::add_column_sums(dy, bias_.in(gradients).data, tape.sums);
    kernels::gemm(kernels::plain(dy), kernels::plain(weight_.in(weights)), dx, write, tape.packing);
  }

  Index outputs() const { return outputs_; }
  const Parameter& weight() const { return weight_; }

 private:
  Index outputs_ = 0;
  Kind kind_{};
  bool with_bias_ = true;
  Parameter weight_{}, bias_{};
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
