// SPDX-License-Identifier: MIT
// Everything that norma promises of a placement, tried on yours: one call, no test framework.
//
//   for (const std::string& failure : norma::testing::check_policy(MyPolicy{})) std::puts(failure.c_str());
//
// The contract itself is checked at compile time by the concept Policy and by the setters of the table.
#pragma once

#include <norma/block/stack.hpp>
#include <norma/testing/gradient_check.hpp>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace norma::inline v0_1::inline NORMA_TARGET::testing {

struct ConformanceOptions {
  Dimensions dims{.width = 21, .heads = 3, .hidden = 17};  ///< odd sizes: no lane is full
  Shape shape{2, 5};
  int layers = 3;
  /// Parameters whose gradient is zero by theory, by the end of their names. The key's bias is, unless keys are changed
  /// after it, by an entry or by rotary positions, or scores are capped. Of cross-attention it is added where the
  /// policy fills no key entry there.
  std::vector<std::string> zero_by_theory{dims.rotary.width != 0 || dims.score_cap != 0 ? "cross_attention.key.bias"
                                                                                        : "key.bias"};
  double tolerance = 1e-6;  ///< of gradients, as in GradientCheckOptions
};

namespace detail {

/// A DecoderBlock as a network from x to y: the memory is its own, the same for every sequence of a place in the batch.
template <class Network>
class WithMemory {
 public:
  using T = typename Network::T;
  static constexpr Index kTokens = 4;

  WithMemory(const Network& network, Index width, Index batch)
      : network_(network),
        width_(width),
        lengths_(static_cast<std::size_t>(batch), kTokens),
        memory_(static_cast<std::size_t>(batch * kTokens * width)) {
    for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<T>(Rng(4).normal(i));
  }
  Parameters<T> initialize(const Rng& rng) const { return network_.initialize(rng); }
  Parameters<T> gradients() const { return network_.gradients(); }
  Workspace workspace(Shape shape) const { return network_.workspace({shape.batch, shape.tokens, kTokens}); }
  Workspace inference_workspace(Shape shape) const {
    return network_.inference_workspace({shape.batch, shape.tokens, kTokens});
  }
  template <class X, class Y>
  void forward(const Parameters<T>& weights, const X& x, const Y& y, Workspace& workspace, Call call = {}) const {
    call.memory = Memory(view(memory_, x.shape.batch));
    if (!call.lengths.empty()) call.memory_lengths = std::span(lengths_).first(call.lengths.size());
    network_.forward(weights, x, y, workspace, call);
  }
  template <class X, class DY, class DX>
  void backward(const Parameters<T>& weights, const X& x, const DY& dy, const DX& dx, Parameters<T>& gradients,
                Workspace& workspace) const {
    std::vector<T> d_memory(memory_.size());
    backward(weights, x, dy, dx, gradients, workspace, d_memory);
  }
  template <class X, class DY, class DX>
  void backward(const Parameters<T>& weights, const X& x, const DY& dy, const DX& dx, Parameters<T>& gradients,
                Workspace& workspace, std::vector<T>& d_memory) const {
    network_.backward(weights, x, dy, dx, gradients, workspace, view(d_memory, x.shape.batch));
  }
  std::span<T> memory() { return memory_; }

 private:
  template <class V>
  auto view(V& values, Index batch) const {
    using E = std::remove_pointer_t<decltype(values.data())>;
    return TensorView<E>{{batch, kTokens}, {values.data(), batch * kTokens, width_}};
  }

  Network network_;
  Index width_;
  std::vector<Index> lengths_;
  std::vector<T> memory_;
};

/// The memory's gradient against central differences.
template <class Network>
GradientReport check_memory_gradient(WithMemory<Network> network, const Parameters<double>& weights, Shape shape,
                                     Index width, const GradientCheckOptions& options) {
  const auto size = static_cast<std::size_t>(shape.rows() * width);
  std::vector<double> x(size), y(size), dy(size), dx(size), d_memory(network.memory().size());
  for (std::size_t i = 0; i < size; ++i) {
    x[i] = Rng(3).stream("x").normal(i);
    dy[i] = Rng(3).stream("dy").normal(i);
  }
  const auto view = [&](std::vector<double>& v) { return TensorView<double>{shape, {v.data(), shape.rows(), width}}; };
  Workspace workspace = network.workspace(shape);
  Parameters<double> gradients = network.gradients();
  const auto loss = [&] {
    network.forward(weights, view(x), view(y), workspace);
    double sum = 0;
    for (std::size_t i = 0; i < size; ++i) sum += y[i] * dy[i];
    return sum;
  };
  loss();
  network.backward(weights, view(x), view(dy), view(dx), gradients, workspace, d_memory);
  return judge({check_tensor_gradient("memory", network.memory(), d_memory, loss, options)}, options);
}

/// One network on one scalar type, its random inputs, and what failed.
template <class Network>
class Trial {
  using T = typename Network::T;

 public:
  struct Result {
    std::vector<T> y, dx, gradients;
    bool operator==(const Result& other) const {
      return same_bits(y, other.y) && same_bits(dx, other.dx) && same_bits(gradients, other.gradients);
    }
  };

  /// rotary: it takes positions.
  Trial(const char* what, const Network& network, Index width, bool rotary, std::vector<std::string>& failures)
      : what_(what),
        network_(network),
        width_(width),
        rotary_(rotary),
        failures_(failures),
        weights_(perturbed(network)) {}

  /// Weights away from their initial values, where gates are zero and gammas one.
  static Parameters<T> perturbed(const Network& network) {
    Parameters<T> weights = network.initialize(Rng(1));
    weights.for_each_parameter([&](const ParameterInfo& parameter, auto values) {
      const Rng rng = Rng(2).stream(parameter.name);
      for (Index i = 0; i < values.size(); ++i)
        values.data()[i] += static_cast<T>(0.3 * rng.normal(static_cast<std::uint64_t>(i)));
    });
    return weights;
  }

  /// The same smaller shape on this workspace and on one of its own, and the larger one again.
  void shapes(Shape large) {
    const Shape fewer{large.batch > 1 ? large.batch - 1 : 1, large.tokens},
        shorter{large.batch, (large.tokens + 1) / 2};
    Workspace workspace = network_.workspace(large);
    const Result wanted = run(large, workspace);
    for (const Shape& shape : {fewer, shorter}) {
      Workspace fresh = network_.workspace(shape);
      expect(run(shape, workspace) == run(shape, fresh), "a smaller shape gives other bits on a larger workspace");
      expect(fresh.bytes() <= workspace.bytes(), "a smaller shape plans more memory");
    }
    expect(run(large, workspace) == wanted, "a shape gives other bits after a smaller one");
    Workspace inference = network_.inference_workspace(large);
    expect(same_bits(forward(large, inference), wanted.y), "inference gives other bits than training");
    const Network copy = network_;
    expect(Trial(what_, copy, width_, rotary_, failures_).run(large, workspace) == wanted, "a copy gives other bits");
  }

  /// Every planned byte is written, and none is read before. Two fills, so that a result equal to one of them counts as
  /// written.
  void memory(Shape shape) {
    const std::vector<Index> lengths(static_cast<std::size_t>(shape.batch), shape.tokens);
    std::vector<Index> positions(rotary_ ? static_cast<std::size_t>(shape.rows()) : 0);
    for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<Index>(3 * i);
    const Call call{.lengths = lengths, .positions = positions};  // the largest kind of call
    Workspace workspace = network_.workspace(shape);
    const Result wanted = run(shape, workspace, call);
    const Index tape = workspace.usage().tape_bytes, bytes = tape + workspace.usage().scratch_bytes;
    expect(bytes == workspace.bytes(), "planned and carved bytes differ");
    std::vector<bool> written(static_cast<std::size_t>(bytes));
    for (const auto fill : {std::byte{0xFF}, std::byte{0x5A}}) {  // NaN, and a large number
      std::memset(workspace.data(), static_cast<int>(fill), written.size());
      const auto look = [&](Index from) {
        for (Index i = from; i < bytes; ++i)
          if (workspace.data()[i] != fill) written[static_cast<std::size_t>(i)] = true;
      };
      Result r = start(shape);
      run_forward(shape, r, workspace, call);
      look(0);
      std::memset(workspace.data() + tape, static_cast<int>(fill), static_cast<std::size_t>(bytes - tape));
      run_backward(shape, r, workspace);
      look(tape);
      expect(r == wanted, "the result depends on what the workspace held: something is read before it is written");
    }
    // Alignment leaves gaps of under a line; a tape's struct may have such gaps, too.
    Index hole = 0;
    bool holes = false;
    for (std::size_t i = 0; i < written.size(); ++i) {
      hole = written[i] ? 0 : hole + 1;
      holes = holes || hole >= kAlignment;
    }
    expect(!holes, "memory is planned that is never written");
  }

  /// Parameter gradients are added, dx is assigned and may be dy.
  void accumulation(Shape shape) {
    Workspace workspace = network_.workspace(shape);
    const Result once = run(shape, workspace);
    Result twice = start(shape);
    run_forward(shape, twice, workspace);
    run_backward(shape, twice, workspace);
    run_backward(shape, twice, workspace);
    expect(same_bits(twice.dx, once.dx), "a second backward changes dx: it must be assigned");
    double error = 0, largest = 0;
    for (std::size_t i = 0; i < once.gradients.size(); ++i) {
      largest = (std::max)(largest, std::fabs(static_cast<double>(once.gradients[i])));
      error = (std::max)(
          error, std::fabs(static_cast<double>(twice.gradients[i]) - 2 * static_cast<double>(once.gradients[i])));
    }
    expect(error <= 1e-4 * largest, "a second backward does not add the same parameter gradients again");
    Result in_place = start(shape);
    run_forward(shape, in_place, workspace);
    in_place.dx = random(shape, "dy");
    Parameters<T> gradients = network_.gradients();
    network_.backward(weights_, view(shape, x(shape)), view(shape, in_place.dx), view(shape, in_place.dx), gradients,
                      workspace);
    expect(same_bits(in_place.dx, once.dx), "dx in place of dy differs");
  }

  /// A sequence does not feel its batch mates, a token not the later ones.
  void independence(Shape shape) {
    Workspace workspace = network_.workspace(shape);
    const Call causal{.causal = true};
    const Result all = run(shape, workspace, causal);
    const Shape one{1, shape.tokens};
    const auto size = static_cast<std::size_t>(one.rows() * width_);
    const Result first = run(one, workspace, causal);
    expect(std::memcmp(all.y.data(), first.y.data(), size * sizeof(T)) == 0 &&
               std::memcmp(all.dx.data(), first.dx.data(), size * sizeof(T)) == 0,
           "a sequence's result depends on its batch mates");
    if (shape.tokens < 2) return;
    std::vector<T> changed = x(one);
    for (std::size_t i = size - static_cast<std::size_t>(width_); i < size; ++i) changed[i] += T(1);
    std::vector<T> y(size);
    network_.forward(weights_, view(one, changed), view(one, y), workspace, causal);
    expect(std::memcmp(y.data(), first.y.data(), (size - static_cast<std::size_t>(width_)) * sizeof(T)) == 0,
           "under a causal mask, a later token changes an earlier output");
  }

  Result run(Shape shape, Workspace& workspace, const Call& call = {}) {
    Result r = start(shape);
    run_forward(shape, r, workspace, call);
    run_backward(shape, r, workspace);
    return r;
  }

 private:
  static bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
  }
  std::vector<T> random(Shape shape, const char* name) const {
    std::vector<T> v(static_cast<std::size_t>(shape.rows() * width_));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<T>(Rng(3).stream(name).normal(i));
    return v;
  }
  /// The input of a shape, kept for as long as the trial: backward wants the tensor that forward had.
  std::vector<T>& x(Shape shape) {
    if (x_.size() < static_cast<std::size_t>(shape.rows() * width_)) x_ = random(shape, "x");
    return x_;
  }
  TensorView<T> view(Shape shape, std::vector<T>& v) const { return {shape, {v.data(), shape.rows(), width_}}; }
  Result start(Shape shape) const {
    const auto size = static_cast<std::size_t>(shape.rows() * width_);
    return {std::vector<T>(size), std::vector<T>(size, T(99)),
            std::vector<T>(static_cast<std::size_t>(weights_.size()))};
  }
  std::vector<T> forward(Shape shape, Workspace& workspace) {
    std::vector<T> y(static_cast<std::size_t>(shape.rows() * width_));
    network_.forward(weights_, view(shape, x(shape)), view(shape, y), workspace, Call{});
    return y;
  }
  void run_forward(Shape shape, Result& r, Workspace& workspace, const Call& call = {}) {
    network_.forward(weights_, view(shape, x(shape)), view(shape, r.y), workspace, call);
  }
  void run_backward(Shape shape, Result& r, Workspace& workspace) {
    Parameters<T> gradients = network_.gradients();
    std::copy(r.gradients.begin(), r.gradients.end(), gradients.data());
    std::vector<T> dy = random(shape, "dy");
    network_.backward(weights_, view(shape, x(shape)), view(shape, dy), view(shape, r.dx), gradients, workspace);
    std::copy_n(gradients.data(), r.gradients.size(), r.gradients.begin());
  }
  void expect(bool holds, const char* sentence) {
    if (!holds) failures_.push_back(std::string(what_) + ": " + sentence);
  }

  const char* what_;
  const Network& network_;
  Index width_;
  bool rotary_;
  std::vector<std::string>& failures_;
  Parameters<T> weights_;
  std::vector<T> x_;
};

}  // namespace detail

/// What fails for this policy, a sentence each; empty: nothing. As a stack, as a block and as a decoder's block alone:
///
///   gradients      every parameter, the input and the memory against central differences, in double
///
///   accumulation   parameter gradients are added, dx is assigned and may be dy
///
///   memory         every planned byte is written, and none read before
///
///   shapes         smaller shapes on a larger workspace, inference, copies: the same bits
///
///   independence   of batch mates and, under a causal mask, of later tokens: the same bits
///
/// Takes seconds, and allocates.
template <class PolicyType, template <class> class NormType = LayerNorm>
std::vector<std::string> check_policy(const PolicyType& policy = {}, const ConformanceOptions& options = {}) {
  static_assert(Policy<PolicyType, NormType<float>> && Policy<PolicyType, NormType<double>>,
                "norma: a policy has `auto slots(auto at) const`, which returns a table made with place()");
  using CrossEntries =
      typename norma::detail::SiteOf<PolicyType, NormType<double>, Use<Role::cross_attention, CrossAttention>>::Inner;
  std::vector<std::string> failures, zero = options.zero_by_theory;
  if constexpr (!CrossEntries::template has<slot::key> && !CrossEntries::template has<slot::whole_key> &&
                !CrossEntries::template has<slot::rotated_key>)
    zero.push_back("cross_attention.key.bias");
  const GradientCheckOptions gradient_options{.tolerance = options.tolerance, .zero_by_theory = zero};
  const Index width = options.dims.width;
  // What a pass is refused for fails, too.
  const auto try_it = [&]([[maybe_unused]] const char* what, const auto& run) {
#if defined(__cpp_exceptions)
    try {
      run();
    } catch (const Error& error) {
      failures.push_back(std::string(what) + ": " + error.what());
    }
#else
    run();
#endif
  };
  const auto try_all = [&](const char* what, const auto& in_double, const auto& in_float) {
    for (const bool causal : {false, true})
      try_it(what, [&] {
        const auto weights = detail::Trial<std::remove_cvref_t<decltype(in_double)>>::perturbed(in_double);
        const GradientReport report =
            check_gradients(in_double, weights, options.shape, width, width, gradient_options, Call{.causal = causal});
        for (const auto& failure : report.failures) failures.push_back(std::string(what) + ": " + failure);
      });
    detail::Trial trial(what, in_float, width, options.dims.rotary.width != 0, failures);
    try_it(what, [&] { trial.accumulation(options.shape); });
    try_it(what, [&] { trial.memory(options.shape); });
    try_it(what, [&] { trial.shapes(options.shape); });
    try_it(what, [&] { trial.independence(options.shape); });
  };
  const Depth middle{.layer = (options.layers + 1) / 2, .layers = options.layers};
  try_all("block", Block<PolicyType, double, NormType>(options.dims, middle, policy),
          Block<PolicyType, float, NormType>(options.dims, middle, policy));
  try_all("stack", Encoder<Block<PolicyType, double, NormType>>(options.dims, options.layers, policy),
          Encoder<Block<PolicyType, float, NormType>>(options.dims, options.layers, policy));
  const DecoderBlock<PolicyType, double, NormType> in_double(options.dims, middle, policy);
  const DecoderBlock<PolicyType, float, NormType> in_float(options.dims, middle, policy);
  const detail::WithMemory reader(in_double, width, options.shape.batch);
  try_all("decoder block", reader, detail::WithMemory(in_float, width, options.shape.batch));
  const auto weights = detail::Trial<std::remove_cvref_t<decltype(reader)>>::perturbed(reader);
  try_it("decoder block", [&] {
    const auto report = detail::check_memory_gradient(reader, weights, options.shape, width, gradient_options);
    for (const auto& failure : report.failures) failures.push_back("decoder block: " + failure);
  });
  return failures;
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::testing
