// SPDX-License-Identifier: MIT
// What a module is: a copyable value of options and parameter offsets that maps a matrix to a matrix.
//
//   using Scalar = T;                                     absent in modules that serve any scalar type
//   static constexpr bool needs_x                         backward reads the input again
//   struct Tape                                           what forward keeps: views and numbers, trivially copyable
//   void declare(Layout&, Index width)                    once: asks for its parameters, learns its width
//   Tape plan(Plan&, const Pass&) const                   carves tape and scratch: pure arithmetic on the pass.
//                                                         Equal passes of inference may share a tape
//   void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape&) const
//   void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write,
//                 T* gradients, const Tape&) const        adds parameter gradients, assigns or adds dx; dx may be dy
//
// In a slot per head a row is one head of a token: shape.tokens is tokens x heads, while the call's lengths and
// positions still count tokens.
//
// A module made of products needs dx and dy apart, and its output may have a width of its own: see Product.
//
// A reader maps a stream of several matrices to one: `static constexpr int parts`, forward takes a Stream in place of
// x, and backward adds to every part of a Stream in place of dx.
#pragma once

#include <norma/core/call.hpp>
#include <norma/core/parameters.hpp>
#include <norma/core/plan.hpp>

#include <concepts>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// Whether a module reads the call's memory: cross-attention. It then has memory_width().
template <class M>
inline constexpr bool kReadsMemory = false;

/// Whether a norm takes the sum of a residual connection in one visit, in place of the matrix that the sum would be: it
/// has forward_sum(weights, sum, s, y, tape), s the sum itself or null, and backward_sum(weights, sum, s, dy, dx, dw,
/// gradients, tape), as LayerNorm does.
template <class M>
inline constexpr bool kNormsSums = false;

/// Whether a sublayer may stand where this role is. A sublayer of a user's own may stand anywhere unless it says more.
template <class M, Role R>
inline constexpr bool kServes = true;

/// Base of modules made of matrix products: Linear, Attention, FeedForward. They have `Index outputs() const`, the
/// width of their output, and cannot work in place, so they fill no slot.
struct Product {};
template <class M>
inline constexpr bool kInPlace = !std::is_base_of_v<Product, M>;

/// Base of modules that may be absent at run time: they have active(). An absent module's output is its input's view.
struct Optional {};

/// The module of an empty slot.
struct None : Optional {
  static constexpr bool needs_x = false;
  struct Tape {};
  static constexpr bool active() { return false; }
  void declare(Layout&, Index) {}
  Tape plan(Plan&, const Pass&) const { return {}; }
  template <class T>
  void forward(const T*, MatrixView<const T>, MatrixView<T>, const Tape&) const {}
  template <class T>
  void backward(const T*, MatrixView<const T>, MatrixView<const T>, MatrixView<T>, Write, T*, const Tape&) const {}
};

template <class M>
constexpr bool active(const M& module) {
  if constexpr (std::is_base_of_v<Optional, M>)
    return module.active();
  else
    return true;
}

namespace detail {

template <class M>
concept Declared = requires(const M& m, M& own, Layout& layout, Plan& p, const Pass& pass) {
  own.declare(layout, Index());
  { m.plan(p, pass) } -> std::same_as<typename M::Tape>;
  { M::needs_x } -> std::convertible_to<bool>;
};
template <class M, class T>
concept MatrixModuleOf = Declared<M> && requires(const M& m, const T* weights, T* gradients, MatrixView<const T> x,
                                                 MatrixView<T> y, const typename M::Tape& tape) {
  m.forward(weights, x, y, tape);
  m.backward(weights, x, x, y, Write::add, gradients, tape);
};
template <class M, int Parts, class T>
concept StreamReaderOf = Declared<M> &&(M::parts == Parts) &&
                         requires(const M& m, const T* weights, T* gradients, const Stream<Parts, const T>& s,
                                  const Stream<Parts, T>& ds, MatrixView<const T> dy, MatrixView<T> y,
                                  const typename M::Tape& tape) {
  m.forward(weights, s, y, tape);
  m.backward(weights, s, dy, ds, gradients, tape);
};

template <class M>
concept IsReader = requires {
  M::parts;
};

}  // namespace detail

/// Maps a matrix to a matrix, for float or for double.
template <class M>
concept Module = detail::MatrixModuleOf<M, float> || detail::MatrixModuleOf<M, double>;

/// Maps a stream of several matrices to a matrix: a reader of as many parts, or a module, which then reads part 0.
template <class M, int Parts>
concept Reader = Module<M> || detail::StreamReaderOf<M, Parts, float> || detail::StreamReaderOf<M, Parts, double>;

/// Runs a reader on a stream; a matrix module reads part 0.
template <class M, class T, std::size_t Parts>
void read(const M& m, const T* weights, const std::array<MatrixView<const T>, Parts>& s, MatrixView<T> y,
          const typename M::Tape& tape) {
  if constexpr (detail::IsReader<M>)
    m.forward(weights, s, y, tape);
  else
    m.forward(weights, s[0], y, tape);
}
/// Its backward: adds to the gradient of every part it read.
template <class M, class T, std::size_t Parts>
void read_backward(const M& m, const T* weights, const std::array<MatrixView<const T>, Parts>& s,
                   MatrixView<const T> dy, const std::array<MatrixView<T>, Parts>& ds, T* gradients,
                   const typename M::Tape& tape) {
  if constexpr (detail::IsReader<M>)
    m.backward(weights, s, dy, ds, gradients, tape);
  else
    m.backward(weights, s[0], dy, ds[0], Write::add, gradients, tape);
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
