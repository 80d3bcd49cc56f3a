// SPDX-License-Identifier: MIT
// Block<NormPolicy>: one transformer block whose norm placement is the policy.
#pragma once

#include <norma/block/sequence.hpp>
#include <norma/block/surface.hpp>
#include <norma/norm/layer_norm.hpp>
#include <norma/sublayer/attention.hpp>
#include <norma/sublayer/feed_forward.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// Self-attention and feed-forward, placed by `PolicyType`. Used alone it maps one matrix to one matrix: what opens and
/// closes a stack (PreLN's last norm) belongs to Encoder and Decoder.
///
///   Block<PreLN>                                              float, LayerNorm, attention with biases, GELU
///   Block<PreLN, float, RMSNorm, Attention, SwiGLU>           the same, spelled out
template <class PolicyType, class T = float, template <class> class NormType = LayerNorm,
          template <class, class> class AttentionType = Attention, template <class, class> class FeedForwardType = GELU>
class Block : public Surface<Sequence<Body<PolicyType, NormType<T>, Use<Role::attention, AttentionType>,
                                           Use<Role::feed_forward, FeedForwardType>>>> {
 public:
  using BodyType =
      Body<PolicyType, NormType<T>, Use<Role::attention, AttentionType>, Use<Role::feed_forward, FeedForwardType>>;

  /// \throws Error for heads that do not divide the width, or a layer outside 1 .. layers.
  explicit Block(const Dimensions& dims, Depth depth = {}, const PolicyType& policy = {}, const NormType<T>& norm = {})
      : Surface<Sequence<BodyType>>(
            [&](Layout& layout) { return Sequence<BodyType>(dims, depth, 1, Span::block, policy, norm, layout); }) {}
};

/// Self-attention, cross-attention to the call's memory, and feed-forward, placed by `PolicyType`. The memory is read
/// as it is: an encoder's closed output needs no norm more.
template <class PolicyType, class T = float, template <class> class NormType = LayerNorm,
          template <class, class> class AttentionType = Attention, template <class, class> class FeedForwardType = GELU,
          template <class, class> class CrossAttentionType = CrossAttention>
class DecoderBlock
    : public Surface<
          Sequence<Body<PolicyType, NormType<T>, Use<Role::attention, AttentionType>,
                        Use<Role::cross_attention, CrossAttentionType>, Use<Role::feed_forward, FeedForwardType>>>> {
 public:
  using BodyType = Body<PolicyType, NormType<T>, Use<Role::attention, AttentionType>,
                        Use<Role::cross_attention, CrossAttentionType>, Use<Role::feed_forward, FeedForwardType>>;

  /// \throws Error as Block does.
  explicit DecoderBlock(const Dimensions& dims, Depth depth = {}, const PolicyType& policy = {},
                        const NormType<T>& norm = {})
      : Surface<Sequence<BodyType>>(
            [&](Layout& layout) { return Sequence<BodyType>(dims, depth, 1, Span::block, policy, norm, layout); }) {}
};

/// Attention and feed-forward side by side on one input, placed by `PolicyType` as one sublayer:
///
///   ParallelBlock<PreLN>                  y = x + A(n) + F(n), n = LN(x): GPT-J
///   ParallelBlock<PreLNPerBranch>         y = x + A(LN1 x) + F(LN2 x): GPT-NeoX (Black et al., arXiv 2204.06745)
///   ParallelBlock<PreLN, float, LayerNorm, Attention, SwiGLU>    PaLM (Chowdhery et al., arXiv 2204.02311),
///                                         with {.kv_heads = 1, .attention_bias = false, .feed_forward_bias = false}
template <class PolicyType, class T = float, template <class> class NormType = LayerNorm,
          template <class, class> class AttentionType = Attention, template <class, class> class FeedForwardType = GELU>
class ParallelBlock
    : public Surface<
          Sequence<Body<PolicyType, NormType<T>,
                        Parallel<Use<Role::attention, AttentionType>, Use<Role::feed_forward, FeedForwardType>>>>> {
 public:
  using BodyType = Body<PolicyType, NormType<T>,
                        Parallel<Use<Role::attention, AttentionType>, Use<Role::feed_forward, FeedForwardType>>>;

  /// \throws Error as Block does.
  explicit ParallelBlock(const Dimensions& dims, Depth depth = {}, const PolicyType& policy = {},
                         const NormType<T>& norm = {})
      : Surface<Sequence<BodyType>>(
            [&](Layout& layout) { return Sequence<BodyType>(dims, depth, 1, Span::block, policy, norm, layout); }) {}
};

/// Cross-attention to the call's memory and a feed-forward, placed by `PolicyType`: what is put before the blocks of a
/// model to let it read something more. CrossAttentionBlock<GatedCrossAttention> is Flamingo's.
template <class PolicyType, class T = float, template <class> class NormType = LayerNorm,
          template <class, class> class CrossAttentionType = CrossAttention,
          template <class, class> class FeedForwardType = GELU>
class CrossAttentionBlock
    : public Surface<Sequence<Body<PolicyType, NormType<T>, Use<Role::cross_attention, CrossAttentionType>,
                                   Use<Role::feed_forward, FeedForwardType>>>> {
 public:
  using BodyType = Body<PolicyType, NormType<T>, Use<Role::cross_attention, CrossAttentionType>,
                        Use<Role::feed_forward, FeedForwardType>>;

  /// \throws Error as Block does.
  explicit CrossAttentionBlock(const Dimensions& dims, Depth depth = {}, const PolicyType& policy = {},
                               const NormType<T>& norm = {})
      : Surface<Sequence<BodyType>>(
            [&](Layout& layout) { return Sequence<BodyType>(dims, depth, 1, Span::block, policy, norm, layout); }) {}
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
