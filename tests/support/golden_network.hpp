// SPDX-License-Identifier: MIT
// norma's networks by the names that golden files call them. A test file adds one in a line:
//
//   const golden::Network<norma::Block<norma::PreLN>> pre_ln("PreLN");
//
// and golden_test.cpp runs every file through the network that its metadata names. What a file holds:
// tests/golden/make_golden.py.
#pragma once

#include <norma/norma.hpp>

#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace golden {

using norma::Index;
using Parameters = norma::Parameters<float>;

/// The metadata of a file, as numbers.
class Options {
 public:
  explicit Options(const std::map<std::string, std::string>& metadata) : metadata_(metadata) {}
  /// \throws norma::Error where there is none of this name and no other value.
  double number(const std::string& name, std::optional<double> otherwise = {}) const {
    const auto at = metadata_.find(name);
    if (at != metadata_.end()) return std::stod(at->second);
    if (!otherwise) norma::fail("the metadata has no \"" + name + "\"");
    return *otherwise;
  }
  Index size(const std::string& name, std::optional<double> otherwise = {}) const {
    return static_cast<Index>(number(name, otherwise));
  }
  bool flag(const std::string& name, bool otherwise) const { return number(name, otherwise) != 0; }
  std::vector<Index> sizes(const std::string& name) const {
    std::vector<Index> values;
    for (const std::string& word : words(name)) values.push_back(std::stol(word));
    return values;
  }
  std::vector<std::string> words(const std::string& name) const {
    const auto at = metadata_.find(name);
    std::istringstream text(at == metadata_.end() ? "" : at->second);
    return {std::istream_iterator<std::string>(text), {}};
  }

 private:
  const std::map<std::string, std::string>& metadata_;
};

inline norma::Dimensions dimensions(const Options& options) {
  return {.width = options.size("width"),
          .heads = options.size("heads"),
          .hidden = options.size("hidden"),
          .kv_heads = options.size("kv_heads", 0),
          .attention_bias = options.flag("attention_bias", true),
          .feed_forward_bias = options.flag("feed_forward_bias", true),
          .score_scale = options.number("score_scale", 0),
          .rotary = {.width = options.size("rotary_width", 0),
                     .base = options.number("rotary_base", 10000),
                     .interleaved = options.flag("rotary_interleaved", false),
                     .local_base = options.number("rotary_local_base", 0),
                     .factor = options.number("rotary_factor", 1),
                     .original_context = options.size("rotary_original_context", 0)},
          .window = {.size = options.size("window", 0),
                     .global_every = static_cast<int>(options.size("window_global_every", 0))},
          .score_cap = options.number("score_cap", 0),
          .alibi = options.flag("alibi", false),
          .relative_bias = {.buckets = options.size("relative_buckets", 0),
                            .max_distance = options.size("relative_max_distance", 128)}};
}

/// A norm with the options that it has and the file tells.
template <class Norm>
Norm norm(const Options& options) {
  Norm n{};
  if constexpr (requires { n.eps; }) n.eps = options.number("eps");
  if constexpr (requires { n.with_beta; }) n.with_beta = options.flag("norm_beta", n.with_beta);
  if constexpr (requires { n.unit_offset; }) n.unit_offset = options.flag("norm_unit_offset", n.unit_offset);
  return n;
}

/// What one pass reads and writes; `memory` is what cross-attention reads, or an encoder's source.
struct Pass {
  norma::TensorView<const float> x, dy, memory;
  norma::TensorView<float> y, dx, d_memory;
  norma::Call call;
};

/// A network whatever its type.
struct AnyNetwork {
  virtual ~AnyNetwork() = default;
  virtual Parameters zeros() const = 0;
  virtual void run(const Parameters& weights, Pass pass, Parameters& gradients) const = 0;
};

/// `reads`: an Encoder of blocks that read a memory.
template <class Net, bool kReads>
struct Stack : AnyNetwork {
  Net net;
  explicit Stack(Net n) : net(std::move(n)) {}

  Parameters zeros() const override { return net.gradients(); }
  void run(const Parameters& weights, Pass p, Parameters& gradients) const override {
    auto workspace = net.workspace({p.x.shape.batch, p.x.shape.tokens, p.memory.shape.tokens});
    if constexpr (kReads) {
      p.call.memory = p.memory;
      net.forward(weights, p.x, p.y, workspace, p.call);
      net.backward(weights, p.x, p.dy, p.dx, gradients, workspace, p.d_memory);
    } else {
      net.forward(weights, p.x, p.y, workspace, p.call);
      net.backward(weights, p.x, p.dy, p.dx, gradients, workspace);
    }
  }
};
template <class Net>
struct TwoStacks : AnyNetwork {
  Net net;
  explicit TwoStacks(Net n) : net(std::move(n)) {}

  Parameters zeros() const override { return net.gradients(); }
  void run(const Parameters& weights, Pass p, Parameters& gradients) const override {
    auto workspace = net.workspace({p.x.shape.batch, p.x.shape.tokens, p.memory.shape.tokens});
    net.forward(weights, p.memory, p.x, p.y, workspace, p.call);
    net.backward(weights, p.memory, p.x, p.dy, p.d_memory, p.dx, gradients, workspace);
  }
};

/// Every network that some file of this program adds.
using Make = std::function<std::unique_ptr<AnyNetwork>(const Options&)>;
inline std::map<std::string, Make>& networks() {
  static std::map<std::string, Make> all;
  return all;
}
inline void add(const std::string& name, Make make) {
  if (!networks().emplace(name, std::move(make)).second) norma::fail("two networks are called \"" + name + "\"");
}

/// Adds a stack of blocks of `B` under the name that files have for it. A policy that has constants of its own is made
/// of the file's options.
template <class B>
struct Network {
  using Policy = typename B::BodyType::Policy;
  using Norm = typename B::BodyType::Norm;

  explicit Network(
      const std::string& name, std::function<Policy(const Options&)> policy = [](const Options&) { return Policy{}; }) {
    add(name, [policy](const Options& options) {
      using Net = norma::Encoder<B>;
      const auto layers = static_cast<int>(options.size("layers"));
      return std::make_unique<Stack<Net, B::BodyType::kReads>>(
          Net(dimensions(options), layers, policy(options), norm<Norm>(options)));
    });
  }
};

/// The same for an encoder and a decoder that reads it.
template <class EB, class DB>
struct Pair {
  explicit Pair(const std::string& name) {
    add(name, [](const Options& options) {
      using Net = norma::EncoderDecoder<EB, DB>;
      const auto layers = [&](const char* side) { return static_cast<int>(options.size(side)); };
      return std::make_unique<TwoStacks<Net>>(Net(dimensions(options), layers("encoder_layers"), layers("layers")));
    });
  }
};

}  // namespace golden
