// SPDX-License-Identifier: MIT
// An encoder and a decoder that reads it: two streams in, one out.
#pragma once

#include <norma/block/block.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// The core of EncoderDecoder.
template <class EncoderBody, class DecoderBody>
class EncoderDecoderCore {
  static_assert(DecoderBody::kReads, "norma: the decoder's block has no cross-attention; make it a DecoderBlock");
  static_assert(!EncoderBody::kReads, "norma: the encoder's block reads a memory, and has none; make it a Block");

 public:
  using T = typename DecoderBody::T;
  using Scalar = T;
  static_assert(std::is_same_v<T, typename EncoderBody::T>, "norma: encoder and decoder have one scalar type");

  struct Arguments {
    MatrixView<const T> source, target;
    MatrixView<T> y;
    Call source_call{};
  };
  struct Tape {
    MatrixView<T> memory, d_memory;
    typename Sequence<EncoderBody>::Tape encoder;
    typename Sequence<DecoderBody>::Tape decoder;
  };

  EncoderDecoderCore(const Dimensions& dims, int encoder_layers, int decoder_layers,
                     const typename EncoderBody::Policy& encoder_policy,
                     const typename DecoderBody::Policy& decoder_policy, const typename EncoderBody::Norm& encoder_norm,
                     const typename DecoderBody::Norm& decoder_norm, Layout& layout)
      : width_(own_memory(dims)),
        encoder_(make<EncoderBody>("encoder", dims, depth(Side::encoder, encoder_layers, decoder_layers),
                                   encoder_policy, encoder_norm, layout)),
        decoder_(make<DecoderBody>("decoder", dims, depth(Side::decoder, encoder_layers, decoder_layers),
                                   decoder_policy, decoder_norm, layout)) {}

  Index width() const { return width_; }
  const Sequence<EncoderBody>& encoder() const { return encoder_; }
  const Sequence<DecoderBody>& decoder() const { return decoder_; }
  /// Where the first block of a side stands.
  static Depth depth(Side side, int encoder_layers, int decoder_layers) {
    return {.layer = 1,
            .layers = side == Side::encoder ? encoder_layers : decoder_layers,
            .side = side,
            .encoder_layers = encoder_layers,
            .decoder_layers = decoder_layers};
  }
  /// The encoder's pass, of the decoder's and of what is the source's own.
  static Pass source_pass(const Pass& pass, Call call) {
    call.lengths = pass.call.memory_lengths;
    call.training = pass.call.training;
    call.seed = pass.call.seed;
    call.step = pass.call.step;
    call.packed = pass.call.packed;
    return {.shape = {pass.shape.batch, pass.shape.memory_tokens}, .call = call, .largest = pass.largest};
  }

  /// The pass is the decoder's; memory_tokens are the source's tokens, memory_lengths its lengths.
  Tape plan(Plan& p, const Pass& pass, const Arguments& arguments) const {
    Tape t{};
    t.memory = p.keep<T>(pass.shape.memory_rows(), width_);
    t.d_memory = p.gradient<T>(pass.shape.memory_rows(), width_);
    const Pass source = source_pass(pass, arguments.source_call);
    t.encoder = p.child(encoder_, source, MatrixArguments<T>{arguments.source, t.memory});
    Pass target = pass;
    target.call.memory = Memory(TensorView<const T>{source.shape, t.memory});
    target.memory_owned = true;
    target.d_memory = t.d_memory.data;
    t.decoder = p.child(decoder_, target, MatrixArguments<T>{arguments.target, arguments.y});
    return t;
  }
  void forward(const T* weights, const Tape& t) const {
    encoder_.forward(weights, t.encoder);
    decoder_.forward(weights, t.decoder);
  }
  void calibrate(T* weights, const Tape& t) const {
    encoder_.calibrate(weights, t.encoder);
    decoder_.calibrate(weights, t.decoder);
  }
  void after_step(const Layout& layout, T* weights) const {
    encoder_.after_step(layout, weights);
    decoder_.after_step(layout, weights);
  }
  void backward(const T* weights, MatrixView<const T> dy, MatrixView<T> d_source, MatrixView<T> d_target, T* gradients,
                const Tape& t) const {
    decoder_.backward(weights, dy, d_target, gradients, t.decoder);
    encoder_.backward(weights, t.d_memory, d_source, gradients, t.encoder);
  }

 private:
  /// The width of both. \throws Error where the decoder would read another.
  static Index own_memory(const Dimensions& dims) {
    if (dims.read_width() != dims.width)
      fail("memory_width is " + std::to_string(dims.memory_width) + ", wanted 0: the decoder reads the encoder");
    return dims.width;
  }
  template <class BodyType>
  static Sequence<BodyType> make(const char* name, const Dimensions& dims, Depth first,
                                 const typename BodyType::Policy& policy, const typename BodyType::Norm& norm,
                                 Layout& layout) {
    Layout::Level level(layout, name);
    return Sequence<BodyType>(dims, first, first.layers, Span::stack, policy, norm, layout);
  }

  Index width_;
  Sequence<EncoderBody> encoder_;
  Sequence<DecoderBody> decoder_;
};

/// Stops if the source's own call says what is said in the decoder's, for both.
inline void check_source_call(const Call& call) {
  if (!call.lengths.empty()) fail("the source's lengths are the call's memory_lengths");
  if (call.training || call.seed != 0 || call.step != 0)
    fail("training, seed and step are the call's, for both stacks; leave them out of the source's");
  if (call.packed != nullptr) fail("packed is the call's, for both stacks; leave it out of the source's");
  check_no_memory("the encoder", call);
}

/// An encoder of blocks EB and a decoder of DecoderBlocks DB, which reads the encoder's closed output. Parameters are
/// encoder.layers.N..., decoder.layers.N... The policies are told both depths (DeepNorm's constants need them).
template <class EB, class DB>
class EncoderDecoder : public Network<EncoderDecoderCore<typename EB::BodyType, typename DB::BodyType>> {
  using Core = EncoderDecoderCore<typename EB::BodyType, typename DB::BodyType>;

 public:
  using T = typename Core::T;

  /// \throws Error for heads that do not divide the width, or layers < 1.
  EncoderDecoder(const Dimensions& dims, int encoder_layers, int decoder_layers,
                 const typename EB::BodyType::Policy& encoder_policy = {},
                 const typename DB::BodyType::Policy& decoder_policy = {},
                 const typename EB::BodyType::Norm& encoder_norm = {},
                 const typename DB::BodyType::Norm& decoder_norm = {})
      : Network<Core>([&](Layout& layout) {
          return Core(dims, encoder_layers, decoder_layers, encoder_policy, decoder_policy, encoder_norm, decoder_norm,
                      layout);
        }) {}

  /// y = decoder(target, encoder(source)). source: [batch, memory_tokens, width]; target, y: [batch, tokens, width].
  /// `call` is the decoder's, causal whatever it says; its memory_lengths are the source's lengths, and its training,
  /// seed and step are the encoder's, too; `source_call` holds the encoder's own masks and positions. \throws Error as
  /// Block does, and for a source_call that holds more.
  template <class S, class X, class Y>
  void forward(const Parameters<T>& weights, const S& source, const X& target, Y&& y, Workspace& workspace,
               const Call& call = {}, const Call& source_call = {}) const {
    this->core().forward(weights.data(), started(weights, source, target, y, workspace, call, source_call));
    this->end(workspace);
  }
  /// The same pass, in which a policy that measures (Admin) sets its parameters in the weights. No backward follows.
  /// \throws Error as forward does, where no row of source or target counts, and for a measure that is not finite or is
  /// 0: then the weights hold what was measured before it.
  template <class S, class X, class Y>
  void calibrate(Parameters<T>& weights, const S& source, const X& target, Y&& y, Workspace& workspace,
                 const Call& call = {}, const Call& source_call = {}) const {
    const Shape from = tensor_view<const T>(source).shape, in = tensor_view<const T>(target).shape;
    this->check_rows_count("source", call.memory_lengths, from.batch, from.tokens);
    this->check_rows_count("target", call.lengths, in.batch, in.tokens);
    this->core().calibrate(weights.data(), started(weights, source, target, y, workspace, call, source_call));
    this->end_calibrate(workspace);
  }

  /// d_source and d_target (assigned) from dy, and the gradients of the parameters (added). source and target are
  /// forward's. \throws Error without a forward in this workspace before, and as forward does.
  template <class S, class X, class DY, class DS, class DX>
  void backward(const Parameters<T>& weights, const S& source, const X& target, const DY& dy, DS&& d_source,
                DX&& d_target, Parameters<T>& gradients, Workspace& workspace) const {
    const auto& tape = this->tape(workspace, "backward");
    const Shape shape = this->last_shape(workspace), source_shape{shape.batch, shape.memory_tokens};
    const Index width = this->core().width();
    const TensorView<const T> from = tensor_view<const T>(source), in = tensor_view<const T>(target),
                              d_out = tensor_view<const T>(dy);
    const TensorView<T> d_from = tensor_view<T>(d_source), d_in = tensor_view<T>(d_target);
    check_tensor("source", from, source_shape, width);
    check_tensor("target", in, shape, width);
    check_tensor("dy", d_out, shape, width);
    check_tensor("d_source", d_from, source_shape, width);
    check_tensor("d_target", d_in, shape, width);
    if (from.matrix.data != tape.encoder.input.x.data) fail("source is not the tensor that forward was given");
    if (in.matrix.data != tape.decoder.input.x.data) fail("target is not the tensor that forward was given");
    for (const auto& input : {from.matrix, in.matrix}) {
      if (overlap(input, d_from.matrix)) fail("d_source overlaps source or target");
      if (overlap(input, d_in.matrix)) fail("d_target overlaps source or target");
    }
    if (overlap(d_from.matrix, d_in.matrix) || overlap(d_from.matrix, d_out.matrix))
      fail("d_source overlaps d_target or dy");
    const bool same = d_in.matrix.data == d_out.matrix.data && d_in.matrix.stride == d_out.matrix.stride;
    if (!same && overlap(d_in.matrix, d_out.matrix)) fail("d_target overlaps dy in part");
    this->check_parameters("weights", weights);
    this->check_gradients_apart(weights, gradients);
    this->core().backward(weights.data(), d_out.matrix, d_from.matrix, d_in.matrix, gradients.data(), tape);
  }

 private:
  /// Checks a pass and plans it.
  template <class S, class X, class Y>
  const typename Core::Tape& started(const Parameters<T>& weights, const S& source, const X& target, Y&& y,
                                     Workspace& workspace, Call call, const Call& source_call) const {
    call.causal = true;
    const TensorView<const T> from = tensor_view<const T>(source), in = tensor_view<const T>(target);
    const TensorView<T> out = tensor_view<T>(y);
    const Index width = this->core().width();
    check_tensor("source", from, {in.shape.batch, from.shape.tokens}, width);
    check_tensor("target", in, in.shape, width);
    check_tensor("y", out, in.shape, width);
    if (overlap(from.matrix, out.matrix) || overlap(in.matrix, out.matrix)) fail("y overlaps source or target");
    if (!call.memory.empty()) fail("memory is the encoder's output here; leave it out of the call");
    check_source_call(source_call);
    this->check_parameters("weights", weights);
    const Shape shape{in.shape.batch, in.shape.tokens, from.shape.tokens};
    return this->begin(workspace, {.shape = shape, .call = call}, {from.matrix, in.matrix, out.matrix, source_call});
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
