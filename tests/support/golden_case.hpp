// SPDX-License-Identifier: MIT
// A golden file, and norma's networks by the names that files call them. A test file adds a network in a line:
//
//   const golden::Network<norma::Block<norma::PreLN>> pre_ln("PreLN");
//
// and golden_test.cpp runs every file through the network that its metadata names. What a file holds:
// tests/golden/make_golden.py.
#pragma once

#include <norma/io/safetensors.hpp>
#include <norma/norma.hpp>
#include <norma/testing/gradient_check.hpp>

#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace golden {

using norma::Index;
using norma::Safetensors;

constexpr double kOutputTolerance = 1e-5, kGradientTolerance = 1e-4;

/// The metadata of a file as numbers.
class Options {
 public:
  explicit Options(const Safetensors& file) : file_(file) {}
  /// \throws norma::Error where the file has none of this name and there is no other value.
  double number(const std::string& name, std::optional<double> otherwise = {}) const {
    const auto at = file_.metadata().find(name);
    if (at != file_.metadata().end()) return std::stod(at->second);
    if (!otherwise) norma::fail(file_.source() + ": the metadata has no \"" + name + "\"");
    return *otherwise;
  }
  Index size(const std::string& name, Index otherwise = 0) const {
    return static_cast<Index>(number(name, static_cast<double>(otherwise)));
  }
  bool flag(const std::string& name, bool otherwise) const { return number(name, otherwise) != 0; }
  std::vector<std::string> words(const std::string& name) const {
    const auto at = file_.metadata().find(name);
    std::istringstream text(at == file_.metadata().end() ? "" : at->second);
    return {std::istream_iterator<std::string>(text), {}};
  }

 private:
  const Safetensors& file_;
};

inline norma::Dimensions dimensions(const Options& options) {
  return {.width = options.size("width"),
          .heads = options.size("heads"),
          .hidden = options.size("hidden"),
          .kv_heads = options.size("kv_heads"),
          .head_dim = options.size("head_dim"),
          .attention_bias = options.flag("attention_bias", true),
          .feed_forward_bias = options.flag("feed_forward_bias", true),
          .score_scale = options.number("score_scale", 0),
          .rotary = {.width = options.size("rotary_width"), .interleaved = options.flag("rotary_interleaved", false)}};
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

/// How far norma's pass is from a file's. Errors by tensor: max |a - b| / max |b|, of a gradient at least 1e-3 of the
/// largest gradient (docs/design.md, section 6).
struct Comparison {
  std::map<std::string, double> errors;
  std::vector<std::string> failures;  ///< a sentence each; empty: all is equal

  double worst(const std::string& prefix) const {
    double w = 0;
    for (const auto& [name, error] : errors)
      if (name.starts_with(prefix)) w = std::max(w, error);
    return w;
  }
  std::string text() const {
    std::string all;
    for (const auto& failure : failures) all += failure + "\n";
    return all;
  }
  void expect(const std::string& name, double error, double tolerance) {
    errors[name] = error;
    if (!(error <= tolerance)) failures.push_back(name + " is off by " + norma::testing::detail::figure(error));
  }
};

template <class T>
double largest(std::span<const T> v) {
  double m = 0;
  for (const T x : v) m = std::isnan(x) ? x : std::max(m, std::fabs(static_cast<double>(x)));
  return m;
}
template <class T>
double difference(std::span<const T> a, std::span<const T> b, double scale) {
  double worst = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double d = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(d <= worst)) worst = d;
  }
  return worst / scale;
}

/// What one pass reads and writes, and where: `memory` is what cross-attention reads, or an encoder's source.
template <class T>
struct Pass {
  norma::TensorView<const T> x, dy, memory;
  norma::TensorView<T> y, dx, d_memory;
  norma::Call call;
};

template <class B, class T = typename norma::Encoder<B>::T>
void run(const norma::Encoder<B>& net, const norma::Parameters<T>& weights, Pass<T> p, norma::Parameters<T>& gradients,
         norma::Workspace& workspace) {
  if constexpr (B::BodyType::kReads) {
    p.call.memory = p.memory;
    net.forward(weights, p.x, p.y, workspace, p.call);
    net.backward(weights, p.x, p.dy, p.dx, gradients, workspace, p.d_memory);
  } else {
    net.forward(weights, p.x, p.y, workspace, p.call);
    net.backward(weights, p.x, p.dy, p.dx, gradients, workspace);
  }
}
template <class EB, class DB, class T = typename norma::EncoderDecoder<EB, DB>::T>
void run(const norma::EncoderDecoder<EB, DB>& net, const norma::Parameters<T>& weights, Pass<T> p,
         norma::Parameters<T>& gradients, norma::Workspace& workspace) {
  net.forward(weights, p.memory, p.x, p.y, workspace, p.call);
  net.backward(weights, p.memory, p.x, p.dy, p.d_memory, p.dx, gradients, workspace);
}

/// Runs a file through a network.
template <class Net>
Comparison compare(const Net& net, const Safetensors& file) {
  using T = typename Net::T;
  const Options options(file);
  const norma::Shape shape{options.size("batch"), options.size("tokens"), options.size("memory_tokens")};
  const norma::Shape memory_shape{shape.batch, shape.memory_tokens};
  const Index width = options.size("width");
  const auto read = [&](const char* name) { return norma::values<T>(file[name]); };
  const auto tensor = [width](auto& v, norma::Shape s) {
    return norma::TensorView<std::remove_reference_t<decltype(v[0])>>{s, {v.data(), s.rows(), width}};
  };

  auto weights = net.gradients(), gradients = net.gradients(), expected = net.gradients();
  norma::load(file, weights, "weights.");
  norma::load(file, expected, "gradients.");
  const std::vector<T> x = read("x"), dy = read("dy"), memory = shape.memory_tokens > 0 ? read("memory") : x;
  std::vector<T> y(x.size()), dx(x.size()), d_memory(memory.size());
  auto workspace = net.workspace(shape);
  run(net, weights,
      Pass<T>{tensor(x, shape), tensor(dy, shape), tensor(memory, memory_shape), tensor(y, shape), tensor(dx, shape),
              tensor(d_memory, memory_shape), norma::Call{.causal = options.flag("causal", false)}},
      gradients, workspace);

  Comparison result;
  const auto expect = [&](const char* name, const std::vector<T>& got, double tolerance) {
    const std::vector<T> wanted = read(name);
    result.expect(name, difference<T>(got, wanted, largest<T>(wanted)), tolerance);
  };
  expect("y", y, kOutputTolerance);
  expect("dx", dx, kGradientTolerance);
  if (shape.memory_tokens > 0) expect("dmemory", d_memory, kGradientTolerance);

  const auto zero_by_theory = options.words("zero_by_theory");
  const double floor = largest<T>(std::as_const(expected).flat());
  expected.for_each_parameter([&](const norma::ParameterInfo& parameter, auto map) {
    const auto got = gradients[parameter.name];
    const std::span<const T> a(got.data(), static_cast<std::size_t>(got.size())), b(map.data(), a.size());
    const bool zero = std::any_of(zero_by_theory.begin(), zero_by_theory.end(),
                                  [&](const std::string& end) { return parameter.name.ends_with(end); });
    const double scale = zero ? floor : std::max(largest(b), 1e-3 * floor);
    result.expect("gradients." + parameter.name, difference(a, b, scale), zero ? kOutputTolerance : kGradientTolerance);
  });
  return result;
}

/// Every network that some test file of this program adds.
inline auto& networks() {
  static std::map<std::string, std::function<Comparison(const Safetensors&)>> all;
  return all;
}

inline void add(const std::string& name, std::function<Comparison(const Safetensors&)> run) {
  if (!networks().emplace(name, std::move(run)).second) norma::fail("two networks are called \"" + name + "\"");
}

/// Adds a stack of blocks of `B` under the name that files have for it. A policy that has constants of its own is made
/// of the file's options.
template <class B>
class Network {
  using Policy = typename B::BodyType::Policy;
  using Norm = typename B::BodyType::Norm;

 public:
  explicit Network(
      const std::string& name, std::function<Policy(const Options&)> policy = [](const Options&) { return Policy{}; }) {
    add(name, [policy](const Safetensors& file) {
      const Options options(file);
      const auto layers = static_cast<int>(options.size("layers"));
      return compare(norma::Encoder<B>(dimensions(options), layers, policy(options), norm<Norm>(options)), file);
    });
  }
};

/// The same for an encoder and a decoder that reads it.
template <class EB, class DB>
struct Pair {
  explicit Pair(const std::string& name) {
    add(name, [](const Safetensors& file) {
      const Options options(file);
      const auto layers = [&](const char* side) { return static_cast<int>(options.size(side)); };
      return compare(norma::EncoderDecoder<EB, DB>(dimensions(options), layers("encoder_layers"), layers("layers")),
                     file);
    });
  }
};

}  // namespace golden
