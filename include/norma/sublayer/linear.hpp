// SPDX-License-Identifier: MIT
#pragma once

#include <norma/core/module.hpp>
#include <norma/kernels/elementwise.hpp>
#include <norma/kernels/gemm.hpp>
#include <norma/sublayer/packed_weights.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// y = x W^T + b. Parameters: weight [out, in], as checkpoints store it, and bias [out] = 0. Takes any number of rows.
template <class T>
class Linear : public Product {
 public:
  using Scalar = T;
  static constexpr bool needs_x = true;

  struct Tape {
    Executor executor;
    MatrixView<T> packing;  // a row per worker
    const T* panels;        // of the first group, and then of each other, where the call brings them
    kernels::ColumnSums<T> sums;
  };

  Linear() = default;
  /// `width` of the input comes with declare.
  Linear(Index outputs, Kind kind, bool with_bias = true)
      : rows_(RowGroups::all(outputs)), kind_(kind), with_bias_(with_bias) {}

  void declare(Layout& layout, Index width) {
    weight_ = layout.add("weight", rows_.outputs, width, kind_);
    if (with_bias_) bias_ = layout.add("bias", 1, rows_.outputs, Kind::bias, constant(0));
  }
  /// Uses rows of a weight that others use too, instead of declare: a head tied to an embedding, a part of a fused
  /// projection. bias: [1, rows of the weight], or none.
  void use(const Parameter& weight, RowGroups rows, const Parameter* bias = nullptr) {
    weight_ = weight;
    rows_ = rows;
    with_bias_ = bias != nullptr;
    if (with_bias_) bias_ = *bias;
  }
  Tape plan(Plan& p, const Pass& pass) const {
    const Index rows = pass.shape.rows(), in = weight_.columns, out = rows_.group;
    Tape tape{};
    if (pass.call.packed != nullptr) tape.panels = pass.call.packed->template find<T>(weight_, rows_);
    Index packing = kernels::gemm_scratch<T>(rows, out, in, {.packed_b = tape.panels != nullptr});
    if (p.training())
      packing = (std::max)({packing, kernels::gemm_scratch<T>(out, in, rows, {.transposed_a = true}),
                            kernels::gemm_scratch<T>(rows, in, out, {})});
    tape.executor = p.executor();
    tape.packing = p.scratch<T>(p.workers(), packing);
    if (with_bias_) tape.sums = kernels::ColumnSums<T>::plan(p, rows, rows_.outputs);
    return tape;
  }
  /// finish: what follows at once, by row and column of y, where all rows of the weight are one group.
  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& tape,
               const kernels::Finish& finish = {}) const {
    NORMA_ASSERT(finish.run == nullptr || rows_.count() == 1, "linear: only a product of one group is finished");
    for_each_group([&](Index output, Index row) {
      const MatrixView<const T> weight = weight_.in(weights).middle_rows(row, rows_.group);
      const Index before = output / rows_.group * kernels::packed_size<T>(rows_.group, weight_.columns);
      kernels::gemm(
          tape.executor, kernels::plain(x),
          tape.panels != nullptr ? kernels::packed(weight, tape.panels + before) : kernels::transposed(weight),
          y.middle_columns(output, rows_.group), Write::assign, tape.packing,
          with_bias_ ? bias_.in(weights).data + row : nullptr, finish);
    });
  }
  /// dx must not overlap dy: a product cannot work in place. Without memory it is not wanted. finish: what follows dx,
  /// where it is wanted, as in forward.
  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write,
                T* gradients, const Tape& tape, const kernels::Finish& finish = {}) const {
    NORMA_ASSERT(finish.run == nullptr || rows_.count() == 1, "linear: only a product of one group is finished");
    if (with_bias_) kernels::column_sums(tape.executor, dy, tape.sums);
    for_each_group([&](Index output, Index row) {
      const MatrixView<const T> part = dy.middle_columns(output, rows_.group);
      kernels::gemm(tape.executor, kernels::transposed(part), kernels::plain(x),
                    weight_.in(gradients).middle_rows(row, rows_.group), Write::add, tape.packing);
      if (with_bias_) tape.sums.add_to(bias_.in(gradients).data + row, output, rows_.group);
      // The chain over all outputs goes on from group to group.
      if (dx.data == nullptr) return;
      kernels::gemm(tape.executor, kernels::plain(part),
                    kernels::plain(weight_.in(weights).middle_rows(row, rows_.group)), dx,
                    output == 0 ? write : Write::add, tape.packing, nullptr, finish);
    });
  }

  Index outputs() const { return rows_.outputs; }
  const Parameter& weight() const { return weight_; }

 private:
  /// body(first output of the group, its row in the weight)
  template <class F>
  void for_each_group(F&& body) const {
    for (Index output = 0; output < rows_.outputs; output += rows_.group) body(output, rows_.row(output));
  }

  RowGroups rows_;
  Kind kind_{};
  bool with_bias_ = true;
  Parameter weight_{}, bias_{};
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
