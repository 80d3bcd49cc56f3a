// SPDX-License-Identifier: MIT
// norma's networks by the names that golden files call them. A test file adds one in a line:
//
//   const golden::Network<norma::Block<norma::PreLN>> pre_ln("PreLN");
//
// and golden_test.cpp runs every file through the network that its metadata names. What a file holds:
// tests/golden/make_golden.py.
#pragma once

#include <norma/core/names.hpp>
#include <norma/norma.hpp>

#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
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
  std::string text(const std::string& name) const {
    const auto at = metadata_.find(name);
    return at == metadata_.end() ? "" : at->second;
  }
  std::vector<std::string> words(const std::string& name) const {
    std::istringstream stream(text(name));
    return {std::istream_iterator<std::string>(stream), {}};
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

/// A tensor of a file or of a pass, row-major.
struct Tensor {
  std::vector<Index> shape;
  std::vector<float> values;

  static Tensor like(const Tensor& other) { return {other.shape, std::vector<float>(other.values.size())}; }
  /// [batch, tokens, width]; of rank 2, [batch, width], one token.
  norma::Shape rows() const { return {shape.front(), shape.size() < 3 ? 1 : shape[1]}; }
  norma::TensorView<const float> view() const { return {rows(), {values.data(), rows().rows(), shape.back()}}; }
  norma::TensorView<float> view() { return {rows(), {values.data(), rows().rows(), shape.back()}}; }
  template <class I>
  std::vector<I> as() const {
    return {values.begin(), values.end()};
  }
};
using Tensors = std::map<std::string, Tensor>;

/// A network whatever its type.
struct AnyNetwork {
  virtual ~AnyNetwork() = default;
  virtual Parameters zeros() const = 0;
  /// What files call its parameters; empty: as norma does.
  virtual std::span<const norma::Name> names() const { return {}; }
  /// Forward and backward. `in`: what the file has besides weights, their gradients and results, `dy` too. Gives `y`
  /// and d<input> for each input that has a gradient.
  virtual Tensors run(const Parameters& weights, const Tensors& in, Parameters& gradients) const = 0;
};

/// What a file says of the call.
struct CallOptions {
  bool causal;
  std::vector<Index> lengths, prefix, memory_lengths;

  explicit CallOptions(const Options& options)
      : causal(options.flag("causal", false)),
        lengths(options.sizes("lengths")),
        prefix(options.sizes("prefix")),
        memory_lengths(options.sizes("memory_lengths")) {}
  norma::Call call() const {
    return {.causal = causal, .prefix = prefix, .lengths = lengths, .memory_lengths = memory_lengths};
  }
};

/// `reads`: an Encoder of blocks that read a memory.
template <class Net, bool kReads>
struct Stack : AnyNetwork {
  Net net;
  CallOptions options;
  Stack(Net n, const Options& o) : net(std::move(n)), options(o) {}

  Parameters zeros() const override { return net.gradients(); }
  Tensors run(const Parameters& weights, const Tensors& in, Parameters& gradients) const override {
    const Tensor &x = in.at("x"), &dy = in.at("dy");
    Tensors out{{"y", Tensor::like(x)}, {"dx", Tensor::like(x)}};
    norma::Shape shape = x.rows();
    norma::Call call = options.call();
    if constexpr (kReads) {
      const Tensor& memory = in.at("memory");
      shape.memory_tokens = memory.rows().tokens;
      call.memory = memory.view();
      out["dmemory"] = Tensor::like(memory);
    }
    auto workspace = net.workspace(shape);
    net.forward(weights, x.view(), out["y"].view(), workspace, call);
    if constexpr (kReads)
      net.backward(weights, x.view(), dy.view(), out["dx"].view(), gradients, workspace, out["dmemory"].view());
    else
      net.backward(weights, x.view(), dy.view(), out["dx"].view(), gradients, workspace);
    return out;
  }
};
template <class Net>
struct TwoStacks : AnyNetwork {
  Net net;
  explicit TwoStacks(Net n) : net(std::move(n)) {}

  Parameters zeros() const override { return net.gradients(); }
  Tensors run(const Parameters& weights, const Tensors& in, Parameters& gradients) const override {
    const Tensor &x = in.at("x"), &source = in.at("memory");
    Tensors out{{"y", Tensor::like(x)}, {"dx", Tensor::like(x)}, {"dmemory", Tensor::like(source)}};
    auto workspace = net.workspace({x.rows().batch, x.rows().tokens, source.rows().tokens});
    net.forward(weights, source.view(), x.view(), out["y"].view(), workspace);
    net.backward(weights, source.view(), x.view(), in.at("dy").view(), out["dmemory"].view(), out["dx"].view(),
                 gradients, workspace);
    return out;
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
          Net(dimensions(options), layers, policy(options), norm<Norm>(options)), options);
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
