// SPDX-License-Identifier: MIT
#pragma once

#include <norma/models/system.hpp>
#include <norma/residual/policy/glm_deep_norm.hpp>
#include <norma/residual/policy/with_embedding_norm.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

/// GLM-130B (Zeng et al., arXiv 2210.02414, section 2 and appendix B): GLM's DeepNorm, with a norm on the embedding as
/// in the authors' code, GeGLU, rotary positions, a tied head; of the embedding's gradient a tenth arrives. A sequence
/// starts with tokens that all see each other, as many as the call's `prefix` says; the rest is causal. Its positions
/// are the call's: a span that is filled in has those of its place. Initial weights Xavier's where DeepNorm's gain
/// acts, else N(0, 0.0052); the latter is general knowledge of the authors' settings. (They also divide queries by the
/// layer and multiply scores by it: that keeps 16-bit numbers in range and changes no result.) The weights are not in a
/// format that norma reads.
///
/// One of its blocks alone: Block<GLMDeepNorm, float, LayerNorm, Attention, GeGLU>(GLM130B{}.dimensions(), {1, 70}).
struct GLM130B {
  Index width = 12288, heads = 96;
  int layers = 70;
  Index hidden = 32768, vocabulary = 150528;
  double gradient_share = 0.1;  ///< of the embedding's; the authors raised it to 1 late in training
  double eps = 1e-5;

  static constexpr GLM130B b130() { return {}; }

  constexpr Dimensions dimensions() const {
    return {.width = width, .heads = heads, .hidden = hidden, .rotary = {.width = Rotary::kWholeHead}};
  }
  template <class T>
  LanguageModel<Block<WithEmbeddingNorm<GLMDeepNorm>, T, LayerNorm, Attention, GeGLU>> network() const {
    return {
        dimensions(), layers, {.size = vocabulary, .tied = true, .gradient_share = gradient_share}, {}, {.eps = eps}};
  }
  auto init() const { return ForKinds{Kind::value | Kind::output | kFeedForward, XavierNormal{}, Normal{0.0052}}; }
};

template <>
inline constexpr auto kSizes<GLM130B> = std::array{Size<GLM130B>{"b130", GLM130B::b130(), 128'697'794'560}};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
