// SPDX-License-Identifier: MIT
#pragma once
#include <norma/norma.hpp>

#include <algorithm>
#include <string>
#include <utility>

/// A block that computes what torch.nn.TransformerEncoderLayer does. Policy: PostLN for norm_first=False, PreLN for
/// True; FeedForward: ReLU for activation="relu", GELU for "gelu".
template <class Policy, template <class, class> class FeedForward, class T = float>
using TorchEncoderLayer = norma::Block<Policy, T, norma::LayerNorm, norma::Attention, FeedForward>;

/// Calls visit(norma's name, torch's name) for every parameter of the layer.
template <class Visit>
void for_each_torch_name(bool norm_first, const Visit& visit) {
  const std::string norm = norm_first ? "pre" : "out";
  const std::pair<std::string, std::string> names[] = {
      {"attention.query_key_value.weight", "self_attn.in_proj_weight"},
      {"attention.query_key_value.bias", "self_attn.in_proj_bias"},
      {"attention.output.weight", "self_attn.out_proj.weight"},
      {"attention.output.bias", "self_attn.out_proj.bias"},
      {"feed_forward.up.weight", "linear1.weight"},
      {"feed_forward.up.bias", "linear1.bias"},
      {"feed_forward.down.weight", "linear2.weight"},
      {"feed_forward.down.bias", "linear2.bias"},
      {"attention." + norm + ".gamma", "norm1.weight"},
      {"attention." + norm + ".beta", "norm1.bias"},
      {"feed_forward." + norm + ".gamma", "norm2.weight"},
      {"feed_forward." + norm + ".beta", "norm2.bias"},
  };
  for (const auto& [name, torch_name] : names) visit(name, torch_name);
}

/// Copies a layer's state_dict: find(name) is a pointer to torch's tensor of that name, contiguous. `prefix` names the
/// layer in a stack, "layers.0." in norma as in torch.
template <class T, class Find>
void copy_torch_layer(const Find& find, bool norm_first, norma::Parameters<T>& weights,
                      const std::string& prefix = "") {
  for_each_torch_name(norm_first, [&](const std::string& name, const std::string& torch_name) {
    auto to = weights[prefix + name];
    std::copy_n(find(prefix + torch_name), to.size(), to.data());
  });
}
