// SPDX-License-Identifier: MIT
// An encoder and a decoder with their ends: source and target tokens in, logits out, a loss where there are targets.
#pragma once

#include <norma/block/encoder_decoder.hpp>
#include <norma/ends/tokens.hpp>

#include <cstdint>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// The core of SequenceToSequence.
template <class EncoderBody, class DecoderBody>
class SequenceToSequenceCore {
  using Stacks = EncoderDecoderCore<EncoderBody, DecoderBody>;
  using Ends = typename DecoderBody::Ends;
  using Logits = decltype(std::declval<Ends>().template get<slot::logits>(None{}));

 public:
  using T = typename Stacks::T;
  using Scalar = T;
  using Head = HeadModule<typename DecoderBody::Norm, Logits>;

  /// What a pass runs: one side alone leaves no tape.
  enum class Part { both, encoder, decoder };
  struct Arguments {
    Tokens source, target;
    const std::int32_t* targets;
    Call source_call;
    Part part;
    MatrixView<T> memory;  // the caller's, where the encoder runs alone
  };
  struct Tape {
    IdPort targets;
    MatrixView<T> x_source, x_target, y, log_sums, d_source, d_target;  // the streams before the stacks and after
    typename TokenInput<T>::Tape source, target;
    typename Stacks::Tape stacks;
    typename Head::Tape head;
  };

  SequenceToSequenceCore(const Dimensions& dims, int encoder_layers, int decoder_layers, const Vocabulary& options,
                         const typename EncoderBody::Policy& encoder_policy,
                         const typename DecoderBody::Policy& decoder_policy,
                         const typename EncoderBody::Norm& encoder_norm, const typename DecoderBody::Norm& decoder_norm,
                         Layout& layout)
      : width_(checked_width(dims.width)),
        source_(options, dims),
        target_(options, dims),
        first_(declare_inputs(ends_at(1, dims, encoder_layers, decoder_layers, decoder_policy, decoder_norm), layout)),
        stacks_(dims, encoder_layers, decoder_layers, encoder_policy, decoder_policy, encoder_norm, decoder_norm,
                layout),
        last_(layout.entries().size()),
        head_(declared_head(ends_at(decoder_layers, dims, encoder_layers, decoder_layers, decoder_policy, decoder_norm),
                            decoder_norm, layout)) {}

  const TokenInput<T>& source() const { return source_; }
  const TokenInput<T>& target() const { return target_; }
  const Head& head() const { return head_; }
  Index width() const { return width_; }
  Index memory_width() const { return width_; }

  /// The pass is the decoder's, with the source's tokens as memory_tokens; of the encoder alone it is the encoder's.
  Tape plan(Plan& p, const Pass& pass, const Arguments& arguments) const {
    Tape t{};
    if (arguments.part == Part::encoder) {
      t.x_source = p.keep<T>(pass.shape.rows(), width());
      t.source = p.child(source_, pass, arguments.source, t.x_source);
      t.stacks.encoder =
          p.child(stacks_.encoder(), inside(source_, pass), MatrixArguments<T>{t.x_source, arguments.memory});
      return t;
    }
    const bool both = arguments.part == Part::both;
    const Pass source = Stacks::source_pass(pass, arguments.source_call);
    Pass out{.shape = pass.shape, .call = {}, .largest = pass.largest};
    out.shape = head_.shape_out(pass.shape);
    out.call.lengths = pass.call.lengths;
    t.targets = IdPort::plan(p, out, arguments.targets);
    if (both) {
      t.x_source = p.keep<T>(source.shape.rows(), width());
      t.d_source = p.gradient<T>(source.shape.rows(), width());
    }
    t.x_target = p.keep<T>(pass.shape.rows(), width());
    t.y = p.keep<T>(pass.shape.rows(), width());
    t.log_sums = p.keep<T>(out.shape.rows(), 1);
    t.d_target = p.gradient<T>(pass.shape.rows(), width());
    if (both) t.source = p.child(source_, source, arguments.source, t.x_source);
    t.target = p.child(target_, pass, arguments.target, t.x_target);
    Pass inner = inside(target_, pass);
    inner.call.causal = true;
    if (both)
      t.stacks = p.child(stacks_, inner,
                         typename Stacks::Arguments{t.x_source, t.x_target, t.y, inside(source_, source).call});
    else
      t.stacks.decoder = p.child(stacks_.decoder(), inner, MatrixArguments<T>{t.x_target, t.y});
    t.head = p.child(head_, inner, MatrixView<const T>(t.y), t.d_target);
    return t;
  }

  void encode(const T* weights, const Tape& t) const {
    source_.forward(weights, t.source);
    stacks_.encoder().forward(weights, t.stacks.encoder);
  }
  void decode(const T* weights, const Tape& t) const {
    target_.forward(weights, t.target);
    stacks_.decoder().forward(weights, t.stacks.decoder);
    head_.forward(weights, t.head);
  }
  /// The loss where there are targets.
  double forward(const T* weights, const Tape& t) const {
    encode(weights, t);
    decode(weights, t);
    t.targets.enter(kIgnoredTarget);
    return t.targets.ids != nullptr ? cross_entropy<T>(head_.result(t.head), t.targets.entered(), t.log_sums) : 0;
  }
  /// The loss's gradient, where backward expects it.
  void enter_loss(const Tape& t) const {
    cross_entropy_backward<T>(head_.gradient(t.head), t.targets.entered(), t.log_sums);
  }
  void backward(const T* weights, T* gradients, const Tape& t) const {
    head_.backward(weights, t.d_target, gradients, t.head);
    stacks_.backward(weights, t.d_target, t.d_source, t.d_target, gradients, t.stacks);
    target_.backward(weights, t.d_target, gradients, t.target);
    source_.backward(weights, t.d_source, gradients, t.source);
  }
  void calibrate(T* weights, const Tape& t) const {
    source_.forward(weights, t.source);
    target_.forward(weights, t.target);
    stacks_.calibrate(weights, t.stacks);
  }
  /// The hook of the decoder's policy acts on the ends, too.
  void after_step(const Layout& layout, T* weights) const {
    stacks_.after_step(layout, weights);
    const std::span<const ParameterInfo> all(layout.entries());
    stacks_.decoder().after_step(all.first(first_), weights);
    stacks_.decoder().after_step(all.subspan(last_), weights);
  }

 private:
  static Pass inside(const TokenInput<T>& input, Pass pass) {
    pass.call = input.inside(pass.call);
    return pass;
  }
  static Ends ends_at(int layer, const Dimensions& dims, int encoder_layers, int decoder_layers,
                      const typename DecoderBody::Policy& policy, const typename DecoderBody::Norm& norm) {
    Depth depth = Stacks::depth(Side::decoder, encoder_layers, decoder_layers);
    depth.layer = layer;
    return Sequence<DecoderBody>::ends(policy, depth, norm, dims);
  }
  static Gain gain_of(const Ends& ends) { return ends.template get<slot::gain>(Gain{}); }
  /// How many parameters there are then.
  std::size_t declare_inputs(const Ends& ends, Layout& layout) {
    layout.set_gain(gain_of(ends));
    target_.declare_embedding(layout);
    source_.share_embedding(target_);
    {
      Layout::Level level(layout, "encoder");
      source_.declare_places(layout);
    }
    {
      Layout::Level level(layout, "decoder");
      target_.declare_places(layout);
    }
    layout.set_gain({});
    return layout.entries().size();
  }
  Head declared_head(const Ends& ends, const typename DecoderBody::Norm& norm, Layout& layout) const {
    Head head(target_.head(), norm, ends.template get<slot::logits>(None{}));
    head.declare(layout, width_, target_.tied(), gain_of(ends));
    return head;
  }

  Index width_;
  TokenInput<T> source_, target_;
  std::size_t first_;  // parameters before the stacks'; last_: where those after them begin
  Stacks stacks_;
  std::size_t last_;
  Head head_;
};

/// Source tokens and target tokens in, logits of the target's tokens out:
///
///   SequenceToSequence<Block<PostLN>, DecoderBlock<PostLN>> model({.width = 512, .heads = 8}, 6, 6, {.size = 37000});
///   double loss = model.forward(weights, source, target, targets, workspace);    // mean cross-entropy, nats
///   model.backward(weights, gradients, workspace);                               // adds to gradients
///
/// The workspace's shape holds the source's tokens as memory_tokens. Weights: embedding.weight, of both sides;
/// encoder.layers.N..., decoder.layers.N...; head.weight unless tied; and with learned positions or types a table of
/// each side. The embedding and the head have the gain that the decoder's policy says.
template <class EB, class DB>
class SequenceToSequence : public Network<SequenceToSequenceCore<typename EB::BodyType, typename DB::BodyType>> {
  using Core = SequenceToSequenceCore<typename EB::BodyType, typename DB::BodyType>;
  using Part = typename Core::Part;

 public:
  using T = typename Core::T;

  /// \throws Error for heads that do not divide the width, layers < 1, and options that do not fit.
  SequenceToSequence(const Dimensions& dims, int encoder_layers, int decoder_layers, const Vocabulary& options = {},
                     const typename EB::BodyType::Policy& encoder_policy = {},
                     const typename DB::BodyType::Policy& decoder_policy = {},
                     const typename EB::BodyType::Norm& encoder_norm = {},
                     const typename DB::BodyType::Norm& decoder_norm = {})
      : Network<Core>([&](Layout& layout) {
          return Core(dims, encoder_layers, decoder_layers, options, encoder_policy, decoder_policy, encoder_norm,
                      decoder_norm, layout);
        }) {}

  /// What the head gives, [batch x tokens, outputs], zeros in the padding. It stays until the next forward or backward
  /// in this workspace. `call` is the decoder's, causal whatever it says; its memory_lengths are the source's lengths,
  /// and its training, seed and step are the encoder's, too; `source_call` holds the encoder's own masks and positions.
  /// \throws Error for ids outside the vocabulary, what does not fit the model, weights of another network, a
  /// workspace that is too small.
  MatrixView<const T> forward(const Parameters<T>& weights, const Tokens& source, const Tokens& target,
                              Workspace& workspace, const Call& call = {}, const Call& source_call = {}) const {
    run(weights, source, target, nullptr, workspace, call, source_call);
    return outputs(workspace);
  }
  /// Mean cross-entropy in nats. targets: one for each row of the outputs; -1 counts nothing, and what lies in the
  /// call's padding is neither read nor counted.
  double forward(const Parameters<T>& weights, const Tokens& source, const Tokens& target, const Tokens& targets,
                 Workspace& workspace, const Call& call = {}, const Call& source_call = {}) const {
    this->core().head().check_targets(targets.ids, targets.shape, target.shape, call.lengths);
    return run(weights, source, target, targets.ids, workspace, call, source_call);
  }
  /// The encoder alone: memory [batch, tokens, width] of the source. The call is the encoder's, lengths included.
  /// No backward follows.
  template <class M>
  void encode(const Parameters<T>& weights, const Tokens& source, M&& memory, Workspace& workspace,
              const Call& call = {}) const {
    const TensorView<T> out = tensor_view<T>(memory);
    const Shape shape = this->core().source().shape(source);
    check_tensor("memory", out, shape, this->core().width());
    check_no_memory("the encoder", call);
    this->core().source().validate("source", source, call);
    this->check_parameters("weights", weights);
    this->core().encode(weights.data(), this->begin(workspace, {.shape = shape, .call = call},
                                                    {source, {}, nullptr, {}, Part::encoder, out.matrix}));
    this->end_alone(workspace);
  }
  /// The decoder alone on the call's memory, which encode gave: what the head gives, as forward has it. The source is
  /// encoded once for any number of targets. No backward follows.
  MatrixView<const T> decode(const Parameters<T>& weights, const Tokens& target, Workspace& workspace,
                             const Call& call) const {
    Shape shape = this->core().target().shape(target);
    shape.memory_tokens = this->checked_memory(call, shape);
    this->core().target().validate("target", target, call);
    this->check_parameters("weights", weights);
    const auto& tape =
        this->begin(workspace, {.shape = shape, .call = call}, {{}, target, nullptr, {}, Part::decoder, {}});
    this->core().decode(weights.data(), tape);
    this->end_alone(workspace);
    return this->core().head().result(tape.head);
  }

  /// A pass in which a policy that measures (Admin) sets its parameters in the weights. No backward follows. \throws
  /// Error as forward does, where no row of source or target counts, and for a measure that is not finite or is 0: then
  /// the weights hold what was measured before it.
  void calibrate(Parameters<T>& weights, const Tokens& source, const Tokens& target, Workspace& workspace,
                 const Call& call = {}, const Call& source_call = {}) const {
    this->check_rows_count("source", call.memory_lengths, source.shape.batch, source.shape.tokens);
    this->check_rows_count("target", call.lengths, target.shape.batch, target.shape.tokens);
    this->core().calibrate(weights.data(), started(weights, source, target, nullptr, workspace, call, source_call));
    this->end_calibrate(workspace);
  }

  /// Adds the gradients of the last forward's loss. Once per forward: it works in the outputs' memory.
  void backward(const Parameters<T>& weights, Parameters<T>& gradients, Workspace& workspace) const {
    const auto& tape = this->tape(workspace, "backward");
    if (tape.targets.ids == nullptr && tape.y.rows > 0)
      fail("backward: the last forward had no targets; give backward the gradient of what that gave");
    check_backward(weights, gradients);
    this->core().enter_loss(tape);
    finish(weights, gradients, workspace, tape);
  }
  /// The same from dy, the gradient of what the last forward gave, in its shape.
  template <class DY>
  void backward(const Parameters<T>& weights, const DY& dy, Parameters<T>& gradients, Workspace& workspace) const {
    const auto& tape = this->tape(workspace, "backward");
    const TensorView<const T> d_out = tensor_view<const T>(dy);
    const auto& head = this->core().head();
    check_tensor("dy", d_out, head.shape_out(this->last_shape(workspace)), head.width_out());
    check_backward(weights, gradients);
    head.enter(d_out.matrix, tape.head);
    finish(weights, gradients, workspace, tape);
  }

  /// What the head gave in the last forward, until backward.
  MatrixView<const T> outputs(Workspace& workspace) const {
    return this->core().head().result(this->last(workspace, "outputs").head);
  }

 private:
  double run(const Parameters<T>& weights, const Tokens& source, const Tokens& target, const std::int32_t* targets,
             Workspace& workspace, const Call& call, const Call& source_call) const {
    const double loss =
        this->core().forward(weights.data(), started(weights, source, target, targets, workspace, call, source_call));
    this->end(workspace);
    return loss;
  }
  /// Checks a pass and plans it.
  const typename Core::Tape& started(const Parameters<T>& weights, const Tokens& source, const Tokens& target,
                                     const std::int32_t* targets, Workspace& workspace, const Call& call,
                                     const Call& source_call) const {
    if (source.shape.batch != target.shape.batch)
      fail("source has " + std::to_string(source.shape.batch) + " sequences, wanted " +
           std::to_string(target.shape.batch) + " as target");
    if (!call.memory.empty()) fail("memory is the encoder's output here; leave it out of the call");
    check_source_call(source_call);
    Call read = source_call;
    read.lengths = call.memory_lengths;
    check_lengths("memory_lengths", call.memory_lengths, source.shape.batch, source.shape.tokens);
    this->core().source().validate("source", source, read);
    this->core().target().validate("target", target, call);
    this->check_parameters("weights", weights);
    const Shape shape{target.shape.batch, target.shape.tokens, source.shape.tokens};
    return this->begin(workspace, {.shape = shape, .call = call},
                       {source, target, targets, source_call, Part::both, {}});
  }
  void check_backward(const Parameters<T>& weights, const Parameters<T>& gradients) const {
    this->check_parameters("weights", weights);
    this->check_gradients_apart(weights, gradients);
  }
  void finish(const Parameters<T>& weights, Parameters<T>& gradients, Workspace& workspace,
              const typename Core::Tape& tape) const {
    this->core().backward(weights.data(), gradients.data(), tape);
    this->spend(workspace);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
