// SPDX-License-Identifier: MIT
// Any placement with normed queries and keys: WithQKNorm<PreLN, PerHeadQKNorm>. The norm is the block's; it acts after
// the projections and before rotary positions, in self-attention and in cross-attention.
//
//   PerHeadQKNorm     q_h = LN(q_h), k_h = LN(k_h)          per head, parameters [head_dim], shared by the heads.
//                     Dehghani et al. (ViT-22B), arXiv 2302.05442; Gemma 3 and Qwen 3, with RMSNorm
//   WholeQKNorm       q = LN(q), k = LN(k)                  over all heads at once, parameters [heads x head_dim] and
//                     [kv_heads x head_dim]. OLMo 2, arXiv 2501.00656, with RMSNorm
//   CosineQKNorm      softmax(g q_h k_h^T / (|q_h| |k_h|))  one learned g in place of 1 / sqrt(head_dim).
//                     Henry et al., arXiv 2010.04245; at first g = log2(T^2 - T), T the length that 97.5 %
//                     of the training sequences do not exceed
//
// ViT-22B, Qwen 3 and Henry et al. are given from general knowledge, OLMo 2 and Gemma 3 from their code.
#pragma once

#include <norma/norm/scale_norm.hpp>
#include <norma/residual/table.hpp>

#include <cmath>
#include <string>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct PerHeadQKNorm {
  auto fill(auto table, auto at) const { return table.query(at.norm).key(at.norm); }
};

struct WholeQKNorm {
  auto fill(auto table, auto at) const { return table.whole_query(at.norm).whole_key(at.norm); }
};

struct CosineQKNorm {
  double length = 512;  ///< T

  /// \throws Error for a length below 2, whose first g is not positive.
  auto fill(auto table, auto at) const {
    if (!(length >= 2)) fail("CosineQKNorm: length is " + std::to_string(length) + ", wanted at least 2");
    using Norm = ScaleNorm<typename decltype(at)::Scalar>;
    return table.query(Norm{.initial_g = std::log2(length * length - length)})
        .key(Norm{.with_g = false})
        .score_scale(1.0);
  }
};

template <class Placement, class QKNorm = PerHeadQKNorm>
struct WithQKNorm {
  Placement placement{};
  QKNorm qk_norm{};

  auto slots(auto at) const {
    if constexpr (at.role == Role::attention || at.role == Role::cross_attention)
      return qk_norm.fill(placement.slots(at), at);
    else
      return placement.slots(at);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
