// SPDX-License-Identifier: MIT
// Token ids in, loss out: an embedding, a causal stack, a head and the cross-entropy, on one flat buffer of weights.
#pragma once

#include <norma/block/sequence.hpp>
#include <norma/sublayer/embedding.hpp>
#include <norma/sublayer/linear.hpp>
#include <norma/train/cross_entropy.hpp>

#include <cstdint>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// Token ids, row-major [batch, tokens]. The ids are the caller's and stay alive until backward.
struct Tokens {
  const std::int32_t* ids = nullptr;
  Shape shape;
};

/// The ends of a language model. tied: the head's matrix is the embedding's, and drawn as one: a policy's gain on
/// Kind::head (Fixup's zero) then acts on nothing.
struct Vocabulary {
  Index size = 256;
  bool tied = false;
};

/// The core of LanguageModel.
template <class BodyType>
class LanguageModelCore {
  static_assert(!BodyType::kReads,
                "norma: a LanguageModel has no memory to read; make it of Blocks, not DecoderBlocks");

  using Policy = typename BodyType::Policy;
  using Norm = typename BodyType::Norm;
  using Ends = typename BodyType::Ends;
  using Logits = decltype(std::declval<Ends>().template get<slot::logits>(None{}));

 public:
  using T = typename BodyType::T;
  using Scalar = T;

  /// Either ids or x: a stream that is embedded already.
  struct Arguments {
    const std::int32_t *ids, *targets;
    MatrixView<const T> x;
  };
  struct Tape {
    IdPort ids, targets;
    MatrixView<const T> x;
    MatrixView<T> embedded, y, head_y, logits, log_sums, dx;  // logits: the head's output, after the policy's module
    typename Sequence<BodyType>::Tape stack;
    typename Linear<T>::Tape head;
    typename Logits::Tape logits_module;
  };

  LanguageModelCore(const Dimensions& dims, int layers, Vocabulary vocabulary, const Policy& policy, const Norm& norm,
                    Layout& layout)
      : width_(checked_width(dims.width)),
        vocabulary_(vocabulary.size),
        ends_(Sequence<BodyType>::ends(policy, {.layer = layers, .layers = layers}, norm, dims)),
        embedding_(declared_embedding(
            vocabulary.size, dims.width,
            gain_of(Sequence<BodyType>::ends(policy, {.layer = 1, .layers = layers}, norm, dims)), layout)),
        stack_(dims, {.layer = 1, .layers = layers}, layers, Span::stack, policy, norm, layout),
        head_(vocabulary.size, Kind::head, false),
        logits_(ends_.template get<slot::logits>(None{})) {
    layout.set_gain(gain_of(ends_));
    if (vocabulary.tied) {
      head_.use(embedding_.weight(), RowGroups::all(vocabulary.size));
    } else {
      Layout::Level level(layout, "head");
      head_.declare(layout, dims.width);
    }
    Layout::Level level(layout, "logits");
    logits_.declare(layout, vocabulary.size);
    layout.set_gain({});
  }

  Tape plan(Plan& p, const Pass& pass, const Arguments& arguments) const {
    const Index rows = pass.shape.rows();
    Tape t{};
    t.ids = IdPort::plan(p, pass, arguments.ids);
    t.targets = IdPort::plan(p, pass, arguments.targets);
    t.x = arguments.x;
    if (t.x.data == nullptr) t.x = t.embedded = p.keep<T>(rows, width_);
    t.y = p.keep<T>(rows, width_);
    t.logits = t.head_y = p.keep<T>(rows, vocabulary_);
    if (active(logits_)) t.head_y = p.keep_if<T>(Logits::needs_x, rows, vocabulary_);
    t.log_sums = p.keep<T>(rows, 1);
    t.dx = p.gradient<T>(rows, width_);
    t.stack = p.child(stack_, pass, MatrixArguments<T>{t.x, t.y});
    t.head = p.child(head_, pass);
    t.logits_module = p.child(logits_, pass);
    return t;
  }

  double forward(const T* weights, const Tape& t) const {
    embed(weights, t);
    stack_.forward(weights, t.stack);
    head_.forward(weights, t.y, t.head_y, t.head);
    if (active(logits_)) logits_.forward(weights, MatrixView<const T>(t.head_y), t.logits, t.logits_module);
    t.targets.enter(kIgnoredTarget);
    return t.targets.ids != nullptr ? cross_entropy<T>(t.logits, t.targets.entered(), t.log_sums) : 0;
  }
  void backward(const T* weights, T* gradients, const Tape& t) const {
    cross_entropy_backward<T>(t.logits, t.targets.entered(), t.log_sums);
    if (active(logits_))
      logits_.backward(weights, MatrixView<const T>(t.head_y), MatrixView<const T>(t.logits), t.logits, Write::assign,
                       gradients, t.logits_module);
    head_.backward(weights, t.y, t.logits, t.dx, Write::assign, gradients, t.head);
    stack_.backward(weights, t.dx, t.dx, gradients, t.stack);
    if (t.ids.ids != nullptr) embedding_.backward(t.ids.entered(), MatrixView<const T>(t.dx), gradients);
  }

  void calibrate(T* weights, const Tape& t) const {
    embed(weights, t);
    stack_.calibrate(weights, t.stack);
  }
  void after_step(const Layout& layout, T* weights) const { stack_.after_step(layout.entries(), weights); }

  Index width() const { return width_; }
  Index vocabulary() const { return vocabulary_; }
  const Embedding<T>& embedding() const { return embedding_; }
  const Sequence<BodyType>& stack() const { return stack_; }

 private:
  void embed(const T* weights, const Tape& t) const {
    t.ids.enter(0);
    if (t.ids.ids != nullptr) embedding_.forward(weights, t.ids.entered(), t.embedded);
  }
  static Index checked_width(Index width) {
    if (width <= 0) fail("width is " + std::to_string(width) + ", wanted at least 1");
    return width;
  }
  static Gain gain_of(const Ends& ends) { return ends.template get<slot::gain>(Gain{}); }
  static Embedding<T> declared_embedding(Index vocabulary, Index width, Gain gain, Layout& layout) {
    if (vocabulary <= 0) fail("vocabulary is " + std::to_string(vocabulary) + ", wanted at least 1");
    Embedding<T> embedding(vocabulary);
    Layout::Level level(layout, "embedding");
    layout.set_gain(gain);
    embedding.declare(layout, width);
    layout.set_gain({});
    return embedding;
  }

  Index width_, vocabulary_;
  Ends ends_;  // at the last block, which the head follows; the embedding comes before the first
  Embedding<T> embedding_;
  Sequence<BodyType> stack_;
  Linear<T> head_;
  Logits logits_;
};

/// Predicts the next token. Weights: embedding.weight [vocabulary, width], layers.N..., what closes the stack, and
/// head.weight [vocabulary, width] unless tied.
///
///   LanguageModel<Block<DeepNorm>> model({.width = 128, .heads = 4}, 12, {.size = 256});
///   double loss = model.forward(weights, tokens, targets, workspace);    // mean cross-entropy, nats
///   model.backward(weights, gradients, workspace);                       // adds to gradients
template <class B>
class LanguageModel : public Network<LanguageModelCore<typename B::BodyType>> {
  using Core = LanguageModelCore<typename B::BodyType>;
  using Policy = typename B::BodyType::Policy;
  using Norm = typename B::BodyType::Norm;

 public:
  using T = typename Core::T;

  /// \throws Error for a width < 1, heads that do not divide it, layers < 1, or an empty vocabulary.
  LanguageModel(const Dimensions& dims, int layers, Vocabulary vocabulary = {}, const Policy& policy = {},
                const Norm& norm = {})
      : Network<Core>([&](Layout& layout) { return Core(dims, layers, vocabulary, policy, norm, layout); }) {}

  /// Mean cross-entropy in nats. tokens and targets have one shape; a target of -1 counts nothing, and what lies in the
  /// call's padding is neither read nor counted. Causal, whatever the Call says. \throws Error for ids outside the
  /// vocabulary, different shapes, foreign weights, a workspace that is too small.
  double forward(const Parameters<T>& weights, Tokens tokens, Tokens targets, Workspace& workspace,
                 const Call& call = {}) const {
    check_ids(tokens, call);
    check_all_targets(tokens.shape, targets, call);
    return run(weights, {tokens.ids, targets.ids, {}}, tokens.shape, workspace, call);
  }
  /// The logits alone, [rows, vocabulary]: they stay until the next forward in this workspace. No backward follows.
  MatrixView<const T> forward(const Parameters<T>& weights, Tokens tokens, Workspace& workspace,
                              const Call& call = {}) const {
    check_ids(tokens, call);
    run(weights, {tokens.ids, nullptr, {}}, tokens.shape, workspace, call);
    return logits(workspace);
  }
  /// The same for a stream that is embedded already: x [batch, tokens, width].
  template <class X>
  double forward_embedded(const Parameters<T>& weights, const X& x, Tokens targets, Workspace& workspace,
                          const Call& call = {}) const {
    const TensorView<const T> in = tensor_view<const T>(x);
    check_tensor("x", in, in.shape, this->core().width());
    check_all_targets(in.shape, targets, call);
    return run(weights, {nullptr, targets.ids, in.matrix}, in.shape, workspace, call);
  }
  /// A pass through the stack in which a policy that measures (Admin) sets its parameters in the weights; others set
  /// none. No backward follows. \throws Error as forward does, where no row counts, and for a measure that is not
  /// finite or is 0: then the weights hold what was measured before it.
  void calibrate(Parameters<T>& weights, Tokens tokens, Workspace& workspace, const Call& call = {}) const {
    this->check_rows_count("tokens", call.lengths, tokens.shape.batch, tokens.shape.tokens);
    check_ids(tokens, call);
    measure(weights, {tokens.ids, nullptr, {}}, tokens.shape, workspace, call);
  }
  /// The same for a stream that is embedded already.
  template <class X>
  void calibrate_embedded(Parameters<T>& weights, const X& x, Workspace& workspace, const Call& call = {}) const {
    const TensorView<const T> in = tensor_view<const T>(x);
    check_tensor("x", in, in.shape, this->core().width());
    this->check_rows_count("x", call.lengths, in.shape.batch, in.shape.tokens);
    measure(weights, {nullptr, nullptr, in.matrix}, in.shape, workspace, call);
  }
  /// Adds the gradients of the last forward's loss. Once per forward: it works in the logits' memory.
  void backward(const Parameters<T>& weights, Parameters<T>& gradients, Workspace& workspace) const {
    const auto& tape = this->tape(workspace, "backward");
    if (tape.targets.ids == nullptr && tape.logits.rows > 0) fail("backward: the last forward had no targets");
    this->check_parameters("weights", weights);
    this->check_gradients_apart(weights, gradients);
    this->core().backward(weights.data(), gradients.data(), tape);
    this->spend(workspace);
  }

  /// [rows, vocabulary] of the last forward, until backward.
  MatrixView<const T> logits(Workspace& workspace) const { return this->last(workspace, "logits").logits; }
  /// The stream after block `i` (from 0) of the last forward in a training workspace: [rows, width].
  MatrixView<const T> stream(Workspace& workspace, Index i) const {
    return this->core().stack().stream(this->tape(workspace, "stream").stack, i);
  }

 private:
  /// f(count, first) for the tokens of every sequence that count.
  template <class F>
  static void for_each_sequence(Shape shape, const Call& call, const F& f) {
    check_lengths("lengths", call.lengths, shape.batch, shape.tokens);
    for (Index b = 0; b < shape.batch; ++b)
      f(call.lengths.empty() ? shape.tokens : call.lengths[static_cast<std::size_t>(b)], b * shape.tokens);
  }
  void check_ids(Tokens tokens, const Call& call) const {
    if (tokens.ids == nullptr && tokens.shape.rows() > 0) fail("tokens has no memory (null)");
    for_each_sequence(tokens.shape, call, [&](Index count, Index first) {
      this->core().embedding().validate("tokens", tokens.ids, count, first);
    });
  }
  void check_all_targets(Shape shape, Tokens targets, const Call& call) const {
    if (!(targets.shape == shape))
      fail("targets has shape " + shape_text({targets.shape.batch, targets.shape.tokens}) + ", wanted " +
           shape_text({shape.batch, shape.tokens}));
    if (targets.ids == nullptr && shape.rows() > 0) fail("targets has no memory (null)");
    for_each_sequence(shape, call, [&](Index count, Index first) {
      check_targets(targets.ids, count, this->core().vocabulary(), first);
    });
  }
  double run(const Parameters<T>& weights, const typename Core::Arguments& arguments, Shape shape, Workspace& workspace,
             const Call& call) const {
    const double loss = this->core().forward(weights.data(), started(weights, arguments, shape, workspace, call));
    this->end(workspace);
    return loss;
  }
  void measure(Parameters<T>& weights, const typename Core::Arguments& arguments, Shape shape, Workspace& workspace,
               const Call& call) const {
    this->core().calibrate(weights.data(), started(weights, arguments, shape, workspace, call));
    this->end_calibrate(workspace);
  }
  /// Checks a pass and plans it.
  const typename Core::Tape& started(const Parameters<T>& weights, const typename Core::Arguments& arguments,
                                     Shape shape, Workspace& workspace, Call call) const {
    call.causal = true;
    this->check_parameters("weights", weights);
    check_no_memory("a language model", call);
    return this->begin(workspace, {.shape = shape, .call = call}, arguments);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
