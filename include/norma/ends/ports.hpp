// SPDX-License-Identifier: MIT
// What stands between the caller's tensors and a network: padding stays out, and the memory of a decoder comes in.
#pragma once

#include <norma/core/module.hpp>
#include <norma/kernels/elementwise.hpp>

#include <cstdint>
#include <string>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// \throws Error unless there is at least one column.
inline Index checked_width(Index width) {
  if (width < 1) fail("width is " + std::to_string(width) + ", wanted at least 1");
  return width;
}

/// Which rows of [batch x tokens, width] are tokens, and which are padding. Padding never enters: its rows are zeros
/// inside whatever the caller has there, so they add nothing to any gradient.
struct Padding {
  const Index* lengths = nullptr;  ///< [batch]; null: no padding
  Index tokens = 1;

  explicit operator bool() const { return lengths != nullptr; }
  bool holds(Index row) const { return row % tokens >= lengths[row / tokens]; }

  /// y = x, padding as zeros, or another value. y may be x.
  template <class T>
  void copy(MatrixView<const T> x, MatrixView<T> y, T value = T(0)) const {
    for (Index r = 0; r < y.rows; ++r)
      if (holds(r))
        std::fill_n(y.row(r), y.columns, value);
      else if (x.row(r) != y.row(r))
        std::copy_n(x.row(r), y.columns, y.row(r));
  }
  /// The padding of y as zeros.
  template <class T>
  void clear(MatrixView<T> y) const {
    copy<T>(y, y);
  }
};

/// The caller's x on its way in, y and dy on their way through.
template <class T>
struct InputPort {
  MatrixView<const T> x;  ///< the caller's
  MatrixView<T> clean;    ///< the same without its padding, where there is any
  Padding padding;

  static InputPort plan(Plan& p, const Pass& pass, MatrixView<const T> x, Index width) {
    InputPort port{x, {}, {given(pass.call.lengths), pass.shape.tokens}};
    if (pass.padded()) port.clean = p.keep<T>(pass.shape.rows(), width);
    return port;
  }
  /// What the network reads.
  MatrixView<const T> entered() const { return clean.data != nullptr ? MatrixView<const T>(clean) : x; }

  void enter() const {
    if (padding) padding.copy(x, clean);
  }
  /// Forward's output, or backward's dx: zeros in the padding.
  void leave(MatrixView<T> y) const {
    if (padding) padding.clear(y);
  }
  /// to = dy, without what the caller has in its padding. to may be dy.
  void enter_backward(MatrixView<const T> dy, MatrixView<T> to) const {
    if (padding)
      padding.copy(dy, to);
    else
      kernels::copy(dy, to);
  }
};

/// The caller's token ids or targets on their way in: [batch x tokens]. What they hold in the padding is not read.
struct IdPort {
  const std::int32_t* ids = nullptr;  ///< the caller's, or null
  MatrixView<std::int32_t> clean;     ///< the same with another value in the padding, where there is any
  Padding padding;

  static IdPort plan(Plan& p, const Pass& pass, const std::int32_t* ids) {
    IdPort port{ids, {}, {given(pass.call.lengths), pass.shape.tokens}};
    if (pass.largest || (pass.padded() && ids != nullptr)) port.clean = p.keep<std::int32_t>(pass.shape.rows(), 1);
    return port;
  }
  const std::int32_t* entered() const { return clean.data != nullptr ? clean.data : ids; }
  void enter(std::int32_t in_padding) const {
    if (clean.data != nullptr) padding.copy<std::int32_t>({ids, clean.rows, 1}, clean, in_padding);
  }
};

/// The call's memory on its way to cross-attention, and its gradient on the way back: added over all who read it.
template <class T>
struct MemoryPort {
  MatrixView<const T> memory;
  MatrixView<T> clean, d_memory;
  Padding padding;

  /// Carves, and points the inner pass to the memory that its modules shall read.
  static MemoryPort plan(Plan& p, const Pass& pass, Index width, Pass& inner) {
    MemoryPort port;
    port.memory = pass.call.memory.template as<T>().matrix;
    if (pass.memory_owned) {
      port.d_memory = {static_cast<T*>(pass.d_memory), pass.shape.memory_rows(), width};
      return port;
    }
    if (pass.memory_padded()) {
      port.clean = p.keep<T>(pass.shape.memory_rows(), width);
      port.padding = {given(pass.call.memory_lengths), pass.shape.memory_tokens};
      inner.call.memory = Memory(TensorView<const T>{{pass.shape.batch, pass.shape.memory_tokens}, port.clean});
    }
    port.d_memory = p.gradient<T>(pass.shape.memory_rows(), width);
    inner.d_memory = port.d_memory.data;
    return port;
  }
  void enter() const {
    if (padding) padding.copy(memory, clean);
  }
  void enter_backward() const { kernels::fill(d_memory, T(0)); }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
