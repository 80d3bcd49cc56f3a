// SPDX-License-Identifier: MIT
// Stacks of blocks. The depth is told to each, and the policy's ends open and close them.
#pragma once

#include <norma/block/block.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// `layers` blocks of type B, bidirectional unless the Call says otherwise.
template <class B>
class Encoder : public Surface<Sequence<typename B::BodyType>> {
  using Core = Sequence<typename B::BodyType>;
  using Policy = typename B::BodyType::Policy;
  using Norm = typename B::BodyType::Norm;

 public:
  using T = typename Core::T;

  /// \throws Error for heads that do not divide the width, or layers < 1.
  Encoder(const Dimensions& dims, int layers, const Policy& policy = {}, const Norm& norm = {})
      : Surface<Core>([&](Layout& layout) {
          return Core(dims, {.layer = 1, .layers = layers}, layers, Span::stack, policy, norm, layout);
        }) {}

  /// The stream after block `i` (from 0) as the last forward in this training workspace left it: [rows, width].
  MatrixView<const T> stream(Workspace& workspace, Index i) const {
    return this->core().stream(this->tape(workspace, "stream"), i);
  }
};

/// An Encoder that is causal whatever the Call says: a token sees itself and earlier ones. Of DecoderBlocks, it reads
/// the call's memory, too. For a bidirectional one, make an Encoder of the same blocks: its weights are the same.
template <class B>
class Decoder : public Encoder<B> {
 public:
  using Encoder<B>::Encoder;

  template <class X, class Y>
  void forward(const Parameters<typename Encoder<B>::T>& weights, const X& x, Y&& y, Workspace& workspace,
               Call call = {}) const {
    call.causal = true;
    Encoder<B>::forward(weights, x, y, workspace, call);
  }
  template <class X, class Y>
  void calibrate(Parameters<typename Encoder<B>::T>& weights, const X& x, Y&& y, Workspace& workspace,
                 Call call = {}) const {
    call.causal = true;
    Encoder<B>::calibrate(weights, x, y, workspace, call);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
