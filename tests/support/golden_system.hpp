// SPDX-License-Identifier: MIT
// Named systems by the names that golden files call them. A test file adds one in a line:
//
//   const golden::System<norma::models::GPT2> gpt2("GPT2");
//
// A file's metadata gives the members of the system, by their names; weights and gradients stand in it under the
// names of the package's own files, which the system's table translates.
#pragma once

#include <norma/block/sequence_to_sequence.hpp>
#include <norma/models/system.hpp>

#include "golden_network.hpp"

#include <cstdint>

namespace golden {

/// A system with the members that the metadata names.
template <class S>
S system(const Options& options) {
  S s{};
#define GOLDEN_MEMBER(name)           \
  if constexpr (requires { s.name; }) \
  s.name = static_cast<decltype(s.name)>(options.number(#name, static_cast<double>(s.name)))
  GOLDEN_MEMBER(width);
  GOLDEN_MEMBER(heads);
  GOLDEN_MEMBER(layers);
  GOLDEN_MEMBER(hidden);
  GOLDEN_MEMBER(kv_heads);
  GOLDEN_MEMBER(head_dim);
  GOLDEN_MEMBER(vocabulary);
  GOLDEN_MEMBER(positions);
  GOLDEN_MEMBER(tied);
  GOLDEN_MEMBER(rotary.width);
  GOLDEN_MEMBER(rotary.base);
  GOLDEN_MEMBER(rotary.local_base);
  GOLDEN_MEMBER(rotary.factor);
  GOLDEN_MEMBER(rotary.original_context);
  GOLDEN_MEMBER(rotary_share);
  GOLDEN_MEMBER(window.size);
  GOLDEN_MEMBER(window.global_every);
  GOLDEN_MEMBER(score_width);
  GOLDEN_MEMBER(score_cap);
  GOLDEN_MEMBER(logit_cap);
  GOLDEN_MEMBER(gradient_share);
  GOLDEN_MEMBER(eps);
  GOLDEN_MEMBER(types);
  GOLDEN_MEMBER(image);
  GOLDEN_MEMBER(patch);
  GOLDEN_MEMBER(channels);
  GOLDEN_MEMBER(classes);
  GOLDEN_MEMBER(projection);
  GOLDEN_MEMBER(queries);
  GOLDEN_MEMBER(memory_width);
  GOLDEN_MEMBER(memory_every);
#undef GOLDEN_MEMBER
  return s;
}

/// A Model: of tokens (`ids`, and `types` where it has them), of `images`, or of queries; with `memory` where it reads
/// one.
template <class S>
struct SystemNetwork : AnyNetwork {
  norma::models::Built<S> net;
  CallOptions options;
  SystemNetwork(const S& system, const Options& o) : net(system), options(o) {}
  using Given = typename norma::models::Built<S>::Given;

  Parameters zeros() const override { return net.gradients(); }
  std::span<const norma::Name> names() const override {
    if constexpr (requires { S::kNames; })
      return S::kNames;
    else
      return {};
  }

  Tensors run(const Parameters& weights, const Tensors& in, Parameters& gradients) const override {
    const Tensor& dy = in.at("dy");
    Tensors out{{"y", Tensor::like(dy)}};
    norma::Shape shape{.batch = dy.shape[0]};
    Given given{};
    std::vector<std::int32_t> ids, types;
    norma::InputGradients<float> d_inputs;
    if constexpr (std::is_same_v<Given, norma::Tokens>) {
      ids = in.at("ids").as<std::int32_t>();
      if (in.contains("types")) types = in.at("types").as<std::int32_t>();
      shape.tokens = in.at("ids").shape[1];
      given = {ids.data(), shape, types.empty() ? nullptr : types.data()};
    } else if constexpr (std::is_same_v<Given, norma::Batch>) {
      given = {shape.batch};
    } else {
      const Tensor& images = in.at("images");
      given = {images.values.data(), images.shape[0], images.shape[1], images.shape[2], images.shape[3]};
      out["dimages"] = Tensor::like(images);
      d_inputs.images = out["dimages"].values.data();
    }
    norma::Call call = options.call();
    if (in.contains("memory")) {
      const Tensor& memory = in.at("memory");
      shape.memory_tokens = memory.rows().tokens;
      call.memory = memory.view();
      out["dmemory"] = Tensor::like(memory);
      d_inputs.memory = out["dmemory"].view();
    }
    auto workspace = net.workspace(shape);
    net.forward(weights, given, out["y"].view(), workspace, call);
    net.backward(weights, dy.view(), gradients, workspace, d_inputs);
    return out;
  }
};

/// A SequenceToSequence, of target `ids` and `source`.
template <class S>
struct TwoSidedSystem : AnyNetwork {
  norma::models::Built<S> net;
  CallOptions options;
  TwoSidedSystem(const S& system, const Options& o) : net(system), options(o) {}

  Parameters zeros() const override { return net.gradients(); }
  std::span<const norma::Name> names() const override { return S::kNames; }
  Tensors run(const Parameters& weights, const Tensors& in, Parameters& gradients) const override {
    const Tensor& dy = in.at("dy");
    const auto ids = in.at("ids").as<std::int32_t>(), source = in.at("source").as<std::int32_t>();
    const norma::Shape from{in.at("source").shape[0], in.at("source").shape[1]}, to = dy.rows();
    auto workspace = net.workspace({to.batch, to.tokens, from.tokens});
    Tensors out{{"y", Tensor::like(dy)}};
    const auto y = net.forward(weights, {source.data(), from}, {ids.data(), to}, workspace, options.call());
    std::copy_n(y.data, y.size(), out["y"].values.begin());
    net.backward(weights, dy.view(), gradients, workspace);
    return out;
  }
};

/// Adds a system under the name that files have for it. `make`: for one whose members need more than numbers.
template <class S>
struct System {
  explicit System(const std::string& name, std::function<S(const Options&)> make = system<S>) {
    add(name, [make](const Options& options) -> std::unique_ptr<AnyNetwork> {
      if constexpr (requires { typename norma::models::Built<S>::Given; })
        return std::make_unique<SystemNetwork<S>>(make(options), options);
      else
        return std::make_unique<TwoSidedSystem<S>>(make(options), options);
    });
  }
};

}  // namespace golden
