// SPDX-License-Identifier: MIT
// A stack with its ends: tokens, images or learned queries in, logits or vectors out, a loss where there are targets;
// all on one flat buffer of weights.
#pragma once

#include <norma/block/sequence.hpp>
#include <norma/ends/patches.hpp>
#include <norma/ends/queries.hpp>
#include <norma/ends/tokens.hpp>

#include <cstdint>
#include <string>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// The core of Model. `InputType<T>` is an input end: Options, Given (what the caller lends) and, on views, plan,
/// forward and backward from that to the stream.
template <class BodyType, template <class> class InputType>
class ModelCore {
  using Policy = typename BodyType::Policy;
  using Norm = typename BodyType::Norm;
  using Ends = typename BodyType::Ends;
  using Logits = decltype(std::declval<Ends>().template get<slot::logits>(None{}));

 public:
  using T = typename BodyType::T;
  using Scalar = T;
  using Input = InputType<T>;
  using Options = typename Input::Options;
  using Given = typename Input::Given;
  static constexpr bool kReads = BodyType::kReads;

  /// Either given or x: a stream that is embedded already.
  struct Arguments {
    Given given;
    const std::int32_t* targets;
    MatrixView<const T> x;
  };
  struct Tape {
    bool embedded;
    IdPort targets;
    MatrixView<T> x, y, log_sums, dx;  // the stream before and after the stack
    typename Input::Tape input;
    typename Sequence<BodyType>::Tape stack;
    typename HeadModule<Norm, Logits>::Tape head;
  };

  ModelCore(const Dimensions& dims, int layers, const Options& options, const Policy& policy, const Norm& norm,
            Layout& layout)
      : ModelCore(dims, layers, options, policy, norm, layout,
                  Sequence<BodyType>::ends(policy, {.layer = 1, .layers = layers}, norm, dims),
                  Sequence<BodyType>::ends(policy, {.layer = layers, .layers = layers}, norm, dims)) {}

  Index width() const { return width_; }
  Index memory_width() const { return stack_.memory_width(); }
  const Input& input() const { return input_; }
  const Sequence<BodyType>& stack() const { return stack_; }
  const HeadModule<Norm, Logits>& head() const { return head_; }

  Tape plan(Plan& p, const Pass& pass, const Arguments& arguments) const {
    Pass inner = pass;
    if (pass.largest) inner.shape = input_.shape(pass.shape);
    const bool embedded = arguments.x.data != nullptr;
    inner.call = embedded ? pass.call : input_.inside(pass.call);
    if (input_.causal()) inner.call.causal = true;
    const Index rows = inner.shape.rows();
    // Of one row per sequence, those of sequences without tokens are padding.
    Pass out{.shape = head_.shape_out(inner.shape), .call = {}, .largest = pass.largest};
    out.call.lengths = pass.call.lengths;
    Tape t{};
    t.embedded = embedded;
    t.targets = IdPort::plan(p, out, arguments.targets);
    if (!t.embedded) t.x = p.keep<T>(rows, width_);
    t.y = p.keep<T>(rows, width_);
    t.log_sums = p.keep<T>(out.shape.rows(), 1);
    t.dx = p.gradient<T>(rows, width_);
    // The places of a call are the input's, and after it the blocks'.
    if (!t.embedded) t.input = p.child(input_, Pass{inner.shape, pass.call, pass.largest}, arguments.given, t.x);
    t.stack = p.child(stack_, inner, MatrixArguments<T>{t.embedded ? arguments.x : MatrixView<const T>(t.x), t.y});
    t.head = p.child(head_, inner, MatrixView<const T>(t.y), t.dx);
    return t;
  }

  double forward(const T* weights, const Tape& t) const {
    if (!t.embedded) input_.forward(weights, t.input);
    stack_.forward(weights, t.stack);
    head_.forward(weights, t.head);
    t.targets.enter(kIgnoredTarget);
    return t.targets.ids != nullptr ? cross_entropy<T>(result(t), t.targets.entered(), t.log_sums) : 0;
  }
  /// What the head gave.
  MatrixView<const T> result(const Tape& t) const { return head_.result(t.head); }

  /// The loss's gradient, where backward expects it.
  void enter_loss(const Tape& t) const {
    cross_entropy_backward<T>(head_.gradient(t.head), t.targets.entered(), t.log_sums);
  }
  /// The caller's gradient of what the head gave.
  void enter(MatrixView<const T> dy, const Tape& t) const { head_.enter(dy, t.head); }
  void backward(const T* weights, T* gradients, const Tape& t, T* d_given) const {
    head_.backward(weights, t.dx, gradients, t.head);
    stack_.backward(weights, t.dx, t.dx, gradients, t.stack);
    if (!t.embedded) input_.backward(weights, t.dx, gradients, t.input, d_given);
  }

  void calibrate(T* weights, const Tape& t) const {
    if (!t.embedded) input_.forward(weights, t.input);
    stack_.calibrate(weights, t.stack);
  }
  void after_step(const Layout& layout, T* weights) const { stack_.after_step(layout.entries(), weights); }

 private:
  /// first, last: what the policy says of the ends at the first block, which the input comes before, and at the last,
  /// which the head follows.
  ModelCore(const Dimensions& dims, int layers, const Options& options, const Policy& policy, const Norm& norm,
            Layout& layout, const Ends& first, const Ends& last)
      : width_(checked_width(dims.width)),
        input_(declared(Input(options, dims), gain_of(first), layout)),
        stack_(dims, {.layer = 1, .layers = layers}, layers, Span::stack, policy, norm, layout),
        head_(input_.head(), norm, last.template get<slot::logits>(None{})) {
    head_.declare(layout, width_, input_.tied(), gain_of(last));
  }
  static Gain gain_of(const Ends& ends) { return ends.template get<slot::gain>(Gain{}); }
  static Input declared(Input input, Gain gain, Layout& layout) {
    layout.set_gain(gain);
    input.declare(layout);
    layout.set_gain({});
    return input;
  }

  Index width_;
  Input input_;
  Sequence<BodyType> stack_;
  HeadModule<Norm, Logits> head_;
};

/// Where backward shall put the gradients of what a model read, each assigned; without memory: nowhere.
template <class T>
struct InputGradients {
  TensorView<T> x{{0, 0}, {}};       ///< of an embedded stream [batch, tokens, width]
  TensorView<T> memory{{0, 0}, {}};  ///< [batch, memory_tokens, memory_width]
  T* images = nullptr;               ///< [batch, channels, height, width], dense
};

/// A stack of blocks `B` with an input end and a head: LanguageModel, ImageModel, QueryModel.
template <class B, template <class> class InputType>
class Model : public Network<ModelCore<typename B::BodyType, InputType>> {
 protected:
  using Core = ModelCore<typename B::BodyType, InputType>;

 public:
  using T = typename Core::T;
  using Policy = typename B::BodyType::Policy;
  using Norm = typename B::BodyType::Norm;
  using Options = typename Core::Options;
  using Given = typename Core::Given;

  /// \throws Error for a width < 1, heads that do not divide it, layers < 1, and options that do not fit.
  Model(const Dimensions& dims, int layers, const Options& options = {}, const Policy& policy = {},
        const Norm& norm = {})
      : Network<Core>([&](Layout& layout) { return Core(dims, layers, options, policy, norm, layout); }) {}

  /// What the head gives: [batch x tokens, outputs], or [batch, outputs] where it reads one token of each sequence;
  /// zeros in the padding, and for a sequence without tokens. It stays until the next forward or backward in this
  /// workspace. \throws Error for what does not fit the model, weights of another network, a workspace that is too
  /// small.
  MatrixView<const T> forward(const Parameters<T>& weights, const Given& given, Workspace& workspace,
                              const Call& call = {}) const {
    check_given(given, call);
    run(weights, {given, nullptr, {}}, this->core().input().shape(given), workspace, call);
    return outputs(workspace);
  }
  /// The same into a tensor of the caller's: of rank 3, or a matrix of all rows.
  template <class Y>
  void forward(const Parameters<T>& weights, const Given& given, Y&& y, Workspace& workspace,
               const Call& call = {}) const requires(!std::is_same_v<std::remove_cvref_t<Y>, Tokens>) {
    check_given(given, call);
    const Shape shape = this->core().input().shape(given);
    const TensorView<T> out = tensor_view<T>(y);
    check_tensor("y", out, this->core().head().shape_out(shape), this->core().head().width_out());
    if constexpr (Core::kReads)
      if (overlap(call.memory.template as<T>().matrix, out.matrix)) fail("y overlaps the memory");
    run(weights, {given, nullptr, {}}, shape, workspace, call);
    kernels::copy(outputs(workspace), out.matrix);
  }
  /// Mean cross-entropy in nats of the outputs as logits. A target for each row of the outputs; -1 counts nothing, and
  /// what lies in the call's padding is neither read nor counted. \throws Error as above, and for targets that are no
  /// class.
  double forward(const Parameters<T>& weights, const Given& given, Tokens targets, Workspace& workspace,
                 const Call& call = {}) const {
    check_given(given, call);
    const Shape shape = this->core().input().shape(given);
    this->core().head().check_targets(targets.ids, targets.shape, shape, call.lengths);
    return run(weights, {given, targets.ids, {}}, shape, workspace, call);
  }
  /// The same for a stream that is embedded already: x [batch, tokens, width].
  template <class X>
  double forward_embedded(const Parameters<T>& weights, const X& x, Tokens targets, Workspace& workspace,
                          const Call& call = {}) const {
    const TensorView<const T> in = embedded(x);
    this->core().head().check_targets(targets.ids, targets.shape, in.shape, call.lengths);
    return run(weights, {{}, targets.ids, in.matrix}, in.shape, workspace, call);
  }
  template <class X>
  MatrixView<const T> forward_embedded(const Parameters<T>& weights, const X& x, Workspace& workspace,
                                       const Call& call = {}) const {
    const TensorView<const T> in = embedded(x);
    run(weights, {{}, nullptr, in.matrix}, in.shape, workspace, call);
    return outputs(workspace);
  }

  /// A pass through the stack in which a policy that measures (Admin) sets its parameters in the weights; others set
  /// none. No backward follows. \throws Error as forward does, where no row counts, and for a measure that is not
  /// finite or is 0: then the weights hold what was measured before it.
  void calibrate(Parameters<T>& weights, const Given& given, Workspace& workspace, const Call& call = {}) const {
    const Shape shape = this->core().input().shape(given);
    this->check_rows_count(kGivenName, call.lengths, shape.batch, shape.tokens);
    check_given(given, call);
    measure(weights, {given, nullptr, {}}, shape, workspace, call);
  }
  /// The same for a stream that is embedded already.
  template <class X>
  void calibrate_embedded(Parameters<T>& weights, const X& x, Workspace& workspace, const Call& call = {}) const {
    const TensorView<const T> in = embedded(x);
    this->check_rows_count("x", call.lengths, in.shape.batch, in.shape.tokens);
    measure(weights, {{}, nullptr, in.matrix}, in.shape, workspace, call);
  }

  /// Adds the gradients of the last forward's loss. Once per forward: it works in the outputs' memory.
  void backward(const Parameters<T>& weights, Parameters<T>& gradients, Workspace& workspace,
                const InputGradients<T>& inputs = {}) const {
    const auto& tape = this->tape(workspace, "backward");
    if (tape.targets.ids == nullptr && this->core().result(tape).rows > 0)
      fail("backward: the last forward had no targets; give backward the gradient of what that gave");
    check_backward(weights, gradients, workspace, inputs);
    this->core().enter_loss(tape);
    finish(weights, gradients, workspace, tape, inputs);
  }
  /// The same from dy, the gradient of what the last forward gave, in its shape. \throws Error for another shape.
  template <class DY>
  void backward(const Parameters<T>& weights, const DY& dy, Parameters<T>& gradients, Workspace& workspace,
                const InputGradients<T>& inputs = {}) const {
    const auto& tape = this->tape(workspace, "backward");
    const TensorView<const T> d_out = tensor_view<const T>(dy);
    check_tensor("dy", d_out, this->core().head().shape_out(this->last_shape(workspace)),
                 this->core().head().width_out());
    check_backward(weights, gradients, workspace, inputs);
    this->core().enter(d_out.matrix, tape);
    finish(weights, gradients, workspace, tape, inputs);
  }

  /// What the head gave in the last forward, until backward.
  MatrixView<const T> outputs(Workspace& workspace) const {
    return this->core().result(this->last(workspace, "outputs"));
  }
  /// The closed stream of the last forward in a training workspace: [batch x tokens, width].
  MatrixView<const T> hidden(Workspace& workspace) const { return this->tape(workspace, "hidden").y; }
  /// The stream after block `i` (from 0) of the last forward in a training workspace: [batch x tokens, width].
  MatrixView<const T> stream(Workspace& workspace, Index i) const {
    return this->core().stack().stream(this->tape(workspace, "stream").stack, i);
  }

 private:
  static constexpr const char* kGivenName = std::is_same_v<Given, Tokens>  ? "tokens"
                                            : std::is_same_v<Given, Batch> ? "batch"
                                                                           : "images";
  void check_given(const Given& given, const Call& call) const {
    this->core().input().validate(kGivenName, given, call);
  }
  template <class X>
  TensorView<const T> embedded(const X& x) const {
    const TensorView<const T> in = tensor_view<const T>(x);
    check_tensor("x", in, in.shape, this->core().width());
    return in;
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
                                     Shape shape, Workspace& workspace, const Call& call) const {
    this->check_parameters("weights", weights);
    if constexpr (Core::kReads)
      shape.memory_tokens = this->checked_memory(call, shape);
    else
      check_no_memory("this model", call);
    return this->begin(workspace, {.shape = shape, .call = call}, arguments);
  }
  void check_backward(const Parameters<T>& weights, const Parameters<T>& gradients, Workspace& workspace,
                      const InputGradients<T>& inputs) const {
    const Shape shape = this->last_shape(workspace);
    if (inputs.x.matrix.data != nullptr) {
      if (!this->last(workspace, "backward").embedded)
        fail("inputs.x is wanted, but the last forward embedded its own");
      check_tensor("inputs.x", inputs.x, shape, this->core().width());
    }
    if (inputs.memory.matrix.data != nullptr) {
      if constexpr (!Core::kReads) fail("inputs.memory is wanted, but this model reads no memory");
      check_tensor("inputs.memory", inputs.memory, {shape.batch, shape.memory_tokens}, this->core().memory_width());
      if constexpr (Core::kReads)
        if (overlap(this->last(workspace, "backward").stack.memory.memory, inputs.memory.matrix))
          fail("inputs.memory overlaps the memory");
    }
    if (overlap(inputs.x.matrix, inputs.memory.matrix)) fail("inputs.x overlaps inputs.memory");
    if (inputs.images != nullptr && !Core::Input::kHasGradient)
      fail("inputs.images is wanted, but this model reads no images");
    if (inputs.images != nullptr && this->last(workspace, "backward").embedded)
      fail("inputs.images is wanted, but the last forward was given its stream embedded");
    this->check_parameters("weights", weights);
    this->check_gradients_apart(weights, gradients);
  }
  void finish(const Parameters<T>& weights, Parameters<T>& gradients, Workspace& workspace,
              const typename Core::Tape& tape, const InputGradients<T>& inputs) const {
    this->core().backward(weights.data(), gradients.data(), tape, inputs.images);
    if (inputs.x.matrix.data != nullptr) kernels::copy<T>(tape.dx, inputs.x.matrix);
    if constexpr (Core::kReads)
      if (inputs.memory.matrix.data != nullptr) kernels::copy<T>(tape.stack.memory.d_memory, inputs.memory.matrix);
    this->spend(workspace);
  }
};

/// Token ids in, logits out. Causal unless `.causal = false`.
///
///   LanguageModel<Block<DeepNorm>> model({.width = 128, .heads = 4}, 12, {.size = 256});
///   double loss = model.forward(weights, tokens, targets, workspace);    // mean cross-entropy, nats
///   model.backward(weights, gradients, workspace);                       // adds to gradients
///
/// Weights: embedding.weight [vocabulary, width], layers.N..., what closes the stack, and head.weight [vocabulary,
/// width] unless tied; more where the options say so: see TokenInput and HeadModule.
template <class B>
using LanguageModel = Model<B, TokenInput>;

/// Images in, the class token's vector or its classes out.
///
///   ImageModel<Block<PreLN>> vit({.width = 768, .heads = 12}, 12, {.patch = 16, .head = {.outputs = 1000}});
template <class B>
using ImageModel = Model<B, PatchInput>;

/// Learned queries that read the call's memory, and their vectors out.
template <class B>
using QueryModel = Model<B, QueryInput>;

}  // namespace norma::inline v0_1::inline NORMA_TARGET
