// SPDX-License-Identifier: MIT
// The plain values that describe one pass: how many rows, how deep, forward only or not.
#pragma once

#include <cstddef>
#include <limits>

#include <norma/config.hpp>

namespace norma::inline v0_1 {

using Index = std::ptrdiff_t;

/// Activations are matrices of batch x tokens rows, one row per token.
struct Shape {
  Index batch = 1, tokens = 1;
  /// The largest Index where the product has no room: no plan accepts that many.
  constexpr Index rows() const {
    Index product = 0;
    return __builtin_mul_overflow(batch, tokens, &product) ? (std::numeric_limits<Index>::max)() : product;
  }
  constexpr bool operator==(const Shape&) const = default;
};

/// Sizes of a block. width: of the stream; heads: of attention, head_dim = width / heads; hidden: inner width of the
/// feed-forward, 4 x width unless set.
struct Dimensions {
  Index width = 0, heads = 1, hidden = 0;
};

/// Which stack a block belongs to, for policies whose constants differ (DeepNorm).
enum class Side { single, encoder, decoder };

/// Where a block stands: `layer` of `layers`, from 1. In an encoder-decoder, `side` and both depths say which.
struct Depth {
  int layer = 1, layers = 1;
  Side side = Side::single;
  int encoder_layers = 0, decoder_layers = 0;
};

/// What varies by call. Forward records it in the workspace and backward uses the same.
struct Call {
  bool causal = false;  ///< a token sees itself and earlier tokens only
};

/// One pass as the modules see it.
struct Pass {
  Shape shape;
  Call call;
};

enum class Mode { training, inference };

/// Whether an input gradient is stored or added.
enum class Write { assign, add };

/// Which sublayer a site holds; `ends` is the stack itself, asked once for what opens and closes it.
enum class Role { attention, cross_attention, feed_forward, parallel, ends };

}  // namespace norma::inline v0_1
