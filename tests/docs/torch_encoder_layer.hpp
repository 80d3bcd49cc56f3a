// SPDX-License-Identifier: MIT
#pragma once
#include <norma/core/names.hpp>
#include <norma/norma.hpp>

/// A block that computes what torch.nn.TransformerEncoderLayer does. Policy: PostLN for norm_first=False, PreLN for
/// True; FeedForward: ReLU for activation="relu", GELU for "gelu".
template <class Policy, template <class, class> class FeedForward, class T = float>
using TorchEncoderLayer = norma::Block<Policy, T, norma::LayerNorm, norma::Attention, FeedForward>;

/// Its parameters and torch's names for them. A layer has the norms of one of the two placements.
inline constexpr norma::Name kTorchEncoderLayer[] = {
    {"attention.query.weight", "self_attn.in_proj_weight"},  // the rows of three
    {"attention.key.weight", "self_attn.in_proj_weight"},
    {"attention.value.weight", "self_attn.in_proj_weight"},
    {"attention.query.bias", "self_attn.in_proj_bias"},
    {"attention.key.bias", "self_attn.in_proj_bias"},
    {"attention.value.bias", "self_attn.in_proj_bias"},
    {"attention.output.weight", "self_attn.out_proj.weight"},
    {"attention.output.bias", "self_attn.out_proj.bias"},
    {"feed_forward.up.weight", "linear1.weight"},
    {"feed_forward.up.bias", "linear1.bias"},
    {"feed_forward.down.weight", "linear2.weight"},
    {"feed_forward.down.bias", "linear2.bias"},
    {"attention.out.gamma", "norm1.weight"},  // norm_first=False
    {"attention.out.beta", "norm1.bias"},
    {"feed_forward.out.gamma", "norm2.weight"},
    {"feed_forward.out.beta", "norm2.bias"},
    {"attention.pre.gamma", "norm1.weight"},  // norm_first=True
    {"attention.pre.beta", "norm1.bias"},
    {"feed_forward.pre.gamma", "norm2.weight"},
    {"feed_forward.pre.beta", "norm2.bias"},
};
