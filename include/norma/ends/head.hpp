// SPDX-License-Identifier: MIT
// What reads the closed stream: the logits of a vocabulary, of classes, a vector for each sequence.
#pragma once

#include <norma/ends/ports.hpp>
#include <norma/kernels/activation.hpp>
#include <norma/sublayer/linear.hpp>
#include <norma/train/cross_entropy.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// Which rows of the stream a head reads. The last token of a sequence is the last of its `lengths`.
enum class Reads { every_token, first_token, last_token };

/// Between the stream and the outputs: act(x W^T + b), width to width, and the block's norm after it.
struct HeadTransform {
  enum class Activation { none, gelu, tanh };
  Activation activation = Activation::none;
  bool norm = false;
};

/// From the stream to the outputs: read, transform, then z = scale (x W^T + b), and cap tanh(z / cap).
struct Head {
  static constexpr Index kVocabulary = -1;
  std::optional<Reads> reads{};  ///< every token; of images that have a class token, that: the first
  std::optional<HeadTransform> transform{};
  Index outputs = kVocabulary;  ///< as many as tokens there are; of inputs without a vocabulary none; 0: none
  bool bias = false;
  double scale = 1;  ///< 1 / sqrt(width) in PaLM
  double cap = 0;    ///< 30 in Gemma 2; 0: none
};

/// Parameters: transform.weight [width, width], transform.bias, norm...; weight [outputs, width] unless tied, bias
/// [outputs]. `Logits` is the module that a policy puts on the outputs, before the cap.
template <class Norm, class Logits>
class HeadModule {
 public:
  using T = typename Norm::Scalar;
  using Scalar = T;

  /// read: the rows that it reads; a, h, f: before and after the activation, after the norm; z: the product, after the
  /// module, after the cap. Where a step is absent, the second name is the first's view.
  struct Tape {
    MatrixView<const T> y;
    MatrixView<T> read, a, h, f, z_in, z_uncapped, z;
    MatrixView<T> d_read, d_f;
    Index tokens;     ///< of a sequence of y
    Padding padding;  ///< among the rows that it gives: of one row per sequence, those of sequences without tokens
    typename Linear<T>::Tape transform, output;
    typename Norm::Tape norm;
    typename Logits::Tape logits;
  };

  HeadModule(const Head& head, const Norm& norm, const Logits& logits)
      : head_(head),
        reads_(head.reads.value_or(Reads::every_token)),
        transform_(1, Kind::head),
        output_((std::max)(head.outputs, Index(1)), Kind::head, head.bias),
        norm_(norm),
        logits_(logits) {
    if (head.outputs < 0)
      fail("head.outputs is " + std::to_string(head.outputs) + ", wanted 0 or more, or Head::kVocabulary");
    if (!simd::is_finite(head.scale) || head.scale == 0)
      fail("head.scale is " + std::to_string(head.scale) + ", wanted a number other than 0");
    if (!simd::is_finite(head.cap) || head.cap < 0)
      fail("head.cap is " + std::to_string(head.cap) + ", wanted a positive number, or 0 for none");
  }

  /// tied: the matrix that it shares, or null. gain: the policy's, at the last block.
  void declare(Layout& layout, Index width, const Parameter* tied, Gain gain) {
    width_ = width;
    layout.set_gain(gain);
    {
      Layout::Level level(layout, "head");
      declare_transform(layout);
      declare_output(layout, tied);
    }
    Layout::Level level(layout, "logits");
    if (head_.outputs > 0) logits_.declare(layout, head_.outputs);
    layout.set_gain({});
  }

  Index width_out() const { return head_.outputs > 0 ? head_.outputs : width_; }
  /// Of what it gives: one row per token, or per sequence.
  Shape shape_out(Shape shape) const { return {shape.batch, reads_all() ? shape.tokens : 1}; }

  /// Stops unless there is a target for each row that it gives, of a stream of this shape: a class or kIgnoredTarget
  /// where the row counts.
  void check_targets(const std::int32_t* targets, Shape given, Shape shape, std::span<const Index> lengths) const {
    if (head_.outputs == 0) fail("targets are given, but this model's head has no outputs (Head::outputs)");
    const Shape wanted = shape_out(shape);
    if (given.batch != wanted.batch || given.tokens != wanted.tokens)
      fail("targets has shape " + shape_text({given.batch, given.tokens}) + ", wanted " +
           shape_text({wanted.batch, wanted.tokens}));
    if (targets == nullptr && wanted.rows() > 0) fail("targets has no memory (null)");
    check_lengths("lengths", lengths, shape.batch, shape.tokens);
    for (Index b = 0; b < wanted.batch; ++b) {
      const Index length = lengths.empty() ? wanted.tokens : lengths[static_cast<std::size_t>(b)];
      norma::check_targets(targets, (std::min)(length, wanted.tokens), width_out(), b * wanted.tokens);
    }
  }

  /// y: the closed stream; dx: where its gradient goes.
  Tape plan(Plan& p, const Pass& pass, MatrixView<const T> y, MatrixView<T> dx) const {
    Tape t{};
    Pass out{.shape = shape_out(pass.shape), .call = {}, .largest = false};
    out.call.packed = pass.call.packed;
    const Index rows = out.shape.rows();
    const bool every = reads_all(), transforms = head_.transform.has_value();
    t.y = y;
    t.tokens = pass.shape.tokens;
    t.padding = {given(pass.call.lengths), out.shape.tokens};
    t.read = every ? MatrixView<T>{} : p.keep<T>(rows, width_);
    t.d_read = every ? dx : p.gradient<T>(rows, width_);
    if (transforms) {
      t.a = p.keep<T>(rows, width_);
      t.h = t.f = p.keep_if<T>(!normed() || Norm::needs_x, rows, width_);
      if (normed()) t.f = p.keep<T>(rows, width_);
      t.d_f = p.gradient<T>(rows, width_);
    } else {
      t.f = t.read;
      t.d_f = t.d_read;
    }
    if (head_.outputs > 0) {
      t.z = t.z_uncapped = t.z_in = p.keep<T>(rows, head_.outputs);
      if (head_.cap > 0) t.z_uncapped = t.z_in = p.keep<T>(rows, head_.outputs);
      if (active(logits_)) t.z_in = p.keep_if<T>(Logits::needs_x, rows, head_.outputs);
    }
    if (transforms) t.transform = p.child(transform_, out);
    if (normed()) t.norm = p.child(norm_, out);
    if (head_.outputs > 0) t.output = p.child(output_, out);
    if (head_.outputs > 0 && active(logits_)) t.logits = p.child(logits_, out);
    return t;
  }

  /// What it gave: [rows of shape_out, width_out], zeros in the padding.
  MatrixView<const T> result(const Tape& t) const {
    if (head_.outputs > 0) return t.z;
    return features(t);
  }
  /// Where backward expects the gradient of that; it works there.
  MatrixView<T> gradient(const Tape& t) const { return head_.outputs > 0 ? t.z : t.d_f; }

  void forward(const T* weights, const Tape& t) const {
    if (!reads_all()) {
      kernels::fill(t.read, T(0));
      for_each_read(t, [&](Index sequence, Index row) { std::copy_n(t.y.row(row), width_, t.read.row(sequence)); });
    }
    if (head_.transform) {
      transform_.forward(weights, read(t), t.a, t.transform);
      with_activation(
          [&](auto act) { for_each(t.h, t.a, [act](Pack, Pack a) NORMA_INLINE_LAMBDA { return act.value(a); }); });
      if (normed()) norm_.forward(weights, MatrixView<const T>(t.h), t.f, t.norm);
    }
    if (head_.outputs == 0) {
      if (t.padding && head_.transform) t.padding.clear(t.f);  // else zeros as they were read
      return;
    }
    output_.forward(weights, features(t), t.z_in, t.output);
    scale(t.z_in);
    if (active(logits_)) logits_.forward(weights, MatrixView<const T>(t.z_in), t.z_uncapped, t.logits);
    if (head_.cap > 0) {
      const Pack cap = simd::broadcast(static_cast<T>(head_.cap));
      for_each(t.z, t.z_uncapped, [cap](Pack, Pack z) NORMA_INLINE_LAMBDA { return cap * simd::tanh(z / cap); });
    }
    if (t.padding) t.padding.clear(t.z);
  }

  /// The caller's gradient of the result, without what it has in the padding, to where backward expects it.
  void enter(MatrixView<const T> dy, const Tape& t) const {
    if (t.padding)
      t.padding.copy(dy, gradient(t));
    else
      kernels::copy(dy, gradient(t));
  }
  /// From gradient(t) to the dx of plan, which is assigned.
  void backward(const T* weights, MatrixView<T> dx, T* gradients, const Tape& t) const {
    if (head_.outputs > 0) {
      const MatrixView<const T> dz = t.z;
      if (head_.cap > 0) {
        const Pack cap = simd::broadcast(static_cast<T>(head_.cap));
        for_each(t.z, t.z_uncapped,
                 [cap](Pack d, Pack z) NORMA_INLINE_LAMBDA { return d * activation::Tanh::derivative(z / cap); });
      }
      if (active(logits_))
        logits_.backward(weights, MatrixView<const T>(t.z_in), dz, t.z, Write::assign, gradients, t.logits);
      scale(t.z);
      output_.backward(weights, features(t), dz, t.d_f, Write::assign, gradients, t.output);
    }
    if (head_.transform) {
      const MatrixView<const T> d = t.d_f;
      if (normed()) norm_.backward(weights, MatrixView<const T>(t.h), d, t.d_f, Write::assign, gradients, t.norm);
      with_activation([&](auto act) {
        for_each(t.d_f, t.a, [act](Pack dh, Pack a) NORMA_INLINE_LAMBDA { return dh * act.derivative(a); });
      });
      transform_.backward(weights, read(t), d, t.d_read, Write::assign, gradients, t.transform);
    }
    if (reads_all()) return;
    kernels::fill(dx, T(0));
    for_each_read(t, [&](Index sequence, Index row) { std::copy_n(t.d_read.row(sequence), width_, dx.row(row)); });
  }

 private:
  using Pack = simd::Pack<T>;

  void declare_transform(Layout& layout) {
    if (!head_.transform) return;
    transform_ = Linear<T>(width_, Kind::head);
    {
      Layout::Level level(layout, "transform");
      transform_.declare(layout, width_);
    }
    Layout::Level level(layout, "norm");
    if (normed()) norm_.declare(layout, width_);
  }
  void declare_output(Layout& layout, const Parameter* tied) {
    if (head_.outputs == 0) return;
    if (tied == nullptr) return output_.declare(layout, width_);
    Parameter bias;
    if (head_.bias) bias = layout.add("bias", 1, head_.outputs, Kind::bias, constant(0));
    output_.use(*tied, RowGroups::all(head_.outputs), head_.bias ? &bias : nullptr);
  }

  bool reads_all() const { return reads_ == Reads::every_token; }
  bool normed() const { return head_.transform && head_.transform->norm; }
  MatrixView<const T> read(const Tape& t) const { return reads_all() ? t.y : MatrixView<const T>(t.read); }
  MatrixView<const T> features(const Tape& t) const { return head_.transform ? MatrixView<const T>(t.f) : read(t); }
  /// f(sequence, row) for the token that is read of every sequence which has one.
  template <class F>
  void for_each_read(const Tape& t, F&& f) const {
    for (Index b = 0; b < t.read.rows; ++b) {
      const Index length = t.padding ? t.padding.lengths[b] : t.tokens;
      if (length > 0) f(b, b * t.tokens + (reads_ == Reads::first_token ? 0 : length - 1));
    }
  }
  /// y = f(y, x), a pack at a time.
  template <class F>
  static void for_each(MatrixView<T> y, MatrixView<const T> x, const F& f) {
    for (Index r = 0; r < y.rows; ++r)
      simd::for_each_pack_once<T>(y.columns, [&](Index i, Index k) NORMA_INLINE_LAMBDA {
        simd::store_up_to(y.row(r) + i, f(simd::load_up_to(y.row(r) + i, k), simd::load_up_to(x.row(r) + i, k)), k);
      });
  }

  template <class F>
  void with_activation(const F& f) const {
    switch (head_.transform->activation) {
      case HeadTransform::Activation::none:
        return f(activation::Identity{});
      case HeadTransform::Activation::gelu:
        return f(activation::GELU{});
      case HeadTransform::Activation::tanh:
        return f(activation::Tanh{});
    }
  }
  void scale(MatrixView<T> z) const {
    if (head_.scale != 1) kernels::scale(z, static_cast<T>(head_.scale), z);
  }

  Head head_;
  Reads reads_;
  Linear<T> transform_, output_;
  Norm norm_;
  Logits logits_;
  Index width_ = 0;
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
