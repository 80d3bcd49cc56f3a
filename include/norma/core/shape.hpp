// SPDX-License-Identifier: MIT
// The plain values that describe one pass: how many rows, how deep, forward only or not.
#pragma once

#include <norma/config.hpp>

#include <cstddef>
#include <limits>

namespace norma::inline v0_1 {

using Index = std::ptrdiff_t;

/// Activations are matrices of batch x tokens rows, one row per token. memory_tokens: of what cross-attention reads.
struct Shape {
  Index batch = 1, tokens = 1, memory_tokens = 0;
  /// The largest Index where the product has no room: no plan accepts that many.
  constexpr Index rows() const { return product(batch, tokens); }
  constexpr Index memory_rows() const { return product(batch, memory_tokens); }
  constexpr bool operator==(const Shape&) const = default;

 private:
  static constexpr Index product(Index a, Index b) {
    Index p = 0;
    return __builtin_mul_overflow(a, b, &p) ? (std::numeric_limits<Index>::max)() : p;
  }
};

/// How query, key and value weights are stored.
enum class Projections {
  separate,       ///< query.weight, key.weight, value.weight
  fused,          ///< query_key_value.weight: all rows of query, then key, then value
  fused_per_head  ///< query_key_value.weight: per key/value head, the rows of its query heads, then its key's, then its
                  ///< value's
};

/// Rotary positions (Su et al., arXiv 2104.09864): pair i of a head turns by the angle position x base^(-2i / width).
struct Rotary {
  static constexpr Index kWholeHead = -1;
  Index width = 0;  ///< how much of each head turns, even; 0: none
  double base = 10000;
  bool interleaved = false;  ///< pairs (2i, 2i + 1), as in the paper; else (i, i + width / 2), as in LLaMA

  /// Layers with a window take this base, and are not slowed (Gemma 3, arXiv 2503.19786). 0: as layers without.
  double local_base = 0;

  /// For longer contexts than were trained on: angles are divided by `factor`. LLaMA 3.1 (arXiv 2407.21783) spares fast
  /// pairs, by how often they turn within `original_context` tokens: those of up to low_turns are slowed, those from
  /// high_turns on are not, and between these the speed is interpolated.
  double factor = 1;
  Index original_context = 0;  ///< 8192 in LLaMA 3.1; 0: every pair is slowed
  double low_turns = 1, high_turns = 4;
};

/// A query sees keys less than `size` tokens away, itself included, of those that the masks of the call leave it.
struct Window {
  Index size = 0;        ///< 0: no window
  int global_every = 0;  ///< layers without one: those whose number, from 1, this divides (Gemma 2: 2, Gemma 3: 6)
};

/// T5's bias (Raffel et al., arXiv 1910.10683, section 2.1): a learned number per head and bucket of distances. Half of
/// the buckets are for one distance each, the others for ranges that grow up to max_distance. Unless the call is
/// causal, half of all are for later keys.
struct RelativeBias {
  Index buckets = 0;  ///< even, at least 4; 0: no bias
  Index max_distance = 128;
};

/// Rates of what is dropped in training, each 0 to 1.
struct DropRates {
  double input = 0;         ///< elements of the stream before the first block
  double branch = 0;        ///< elements of a branch before its join
  double attention = 0;     ///< attention weights
  double hidden = 0;        ///< elements of the feed-forward after the activation
  double path = 0;          ///< a whole branch of a sequence
  bool path_rises = false;  ///< from 0 in the first block to `path` in the last
};

/// Sizes and options of a block. Zero means the usual: hidden 4 x width, kv_heads = heads, head_dim = width / heads.
struct Dimensions {
  Index width = 0, heads = 1, hidden = 0;
  Index kv_heads = 0;  ///< fewer than heads: grouped-query attention; 1: multi-query
  Index head_dim = 0;
  Index memory_width = 0;  ///< of what cross-attention reads; 0: width
  int memory_every = 1;    ///< where blocks that read a memory stand among others: every such layer, from the first
  bool attention_bias = true, feed_forward_bias = true;
  double score_scale = 0;  ///< in place of 1 / sqrt(head_dim); a policy's entry comes before
  Projections projections = Projections::separate;
  bool packed_gate = false;  ///< gated feed-forward: gate_up.weight, the gate's rows first

  // Of self-attention alone. Distances are those of places in the sequence, whatever the call's positions are.
  Rotary rotary{};
  Window window{};
  double score_cap = 0;  ///< scores s become cap tanh(s / cap), before biases (Gemma 2, arXiv 2408.00118); 0: none
  bool alibi = false;    ///< bias -slope |distance|, a slope per head (Press et al., arXiv 2108.12409, section 3)
  RelativeBias relative_bias{};
  /// Scores are divided by the layer, from 1. (GLM-130B divides queries by it and multiplies scores by it again: that
  /// keeps numbers of 16 bits in range, changes no result, and needs no option.)
  bool scores_over_layer = false;
  double score_factor = 1;  ///< of the scores, besides score_scale or the policy's

  DropRates dropout{};

  /// What these are in one layer, from 1. Sublayers are given that, and know nothing of depth.
  constexpr Dimensions in_layer(int layer) const {
    Dimensions d = *this;
    if (window.global_every > 0 && layer % window.global_every == 0) d.window.size = 0;
    if (d.window.size != 0 && rotary.local_base != 0) {
      d.rotary.base = rotary.local_base;
      d.rotary.factor = 1;
    }
    if (scores_over_layer) d.score_factor /= layer;
    d.scores_over_layer = false;
    return d;
  }

  /// With the usual values for zeros.
  constexpr Index key_value_heads() const { return kv_heads > 0 ? kv_heads : heads; }
  constexpr Index read_width() const { return memory_width > 0 ? memory_width : width; }
  constexpr Index head_width() const { return head_dim > 0 ? head_dim : heads > 0 ? width / heads : width; }
};

/// Which stack a block belongs to, for policies whose constants differ (DeepNorm).
enum class Side { single, encoder, decoder };

/// Where a block stands: `layer` of `layers`, from 1. In an encoder-decoder, `side` and both depths say which.
struct Depth {
  int layer = 1, layers = 1;
  Side side = Side::single;
  int encoder_layers = 0, decoder_layers = 0;
};

enum class Mode { training, inference };

/// Whether an input gradient is stored or added.
enum class Write { assign, add };

/// Which sublayer a site holds; `ends` is the stack itself, asked once for what opens and closes it.
enum class Role { attention, cross_attention, feed_forward, parallel, ends };

}  // namespace norma::inline v0_1
