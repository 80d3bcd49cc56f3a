// SPDX-License-Identifier: MIT
#pragma once

#include <norma/core/entries.hpp>
#include <norma/kernels/attention.hpp>
#include <norma/kernels/distance_bias.hpp>
#include <norma/kernels/rotary.hpp>
#include <norma/sublayer/linear.hpp>

#include <cmath>
#include <string>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// Multi-head attention (Vaswani et al., arXiv 1706.03762, section 3.2.2) of x on itself, or of x on the call's memory.
///
///   q = x W_q^T + b_q,  k, v = m W_k^T + b_k, m W_v^T + b_v        m: x, or the memory
///   y = concat_h(softmax(scale q_h k_g^T + bias) v_g) W_o^T + b_o  g: the key/value head of query head h
///
/// Self-attention turns q and k by their positions, caps its scores, adds biases by distance and sees a window of keys
/// as dims says, which are those of its layer (Dimensions::in_layer); it takes causal, align, prefix, lengths, keep,
/// bias and positions from the Call. Cross-attention takes memory, memory_lengths, memory_keep and memory_bias. Memory
/// is linear in tokens.
///
/// Parameters, weight [out, in] and bias [out] each: query [heads x head_dim, width], key and value [kv_heads x
/// head_dim, width, or memory_width in cross-attention], output [width, heads x head_dim]; or query_key_value in one,
/// see Projections. With a relative bias, relative_bias.weight [buckets, heads], one for the whole stack. `Inner` holds
/// what the policy puts inside.
template <class T, class Inner, bool kCross>
class MultiHeadAttention : public Product {
  template <class S>
  using Entry = decltype(std::declval<Inner>().template get<S>(None{}));
  static constexpr bool kWholeQuery = Inner::template has<slot::whole_query>;
  static constexpr bool kWholeKey = Inner::template has<slot::whole_key>;
  static_assert(!(kWholeQuery && Inner::template has<slot::query>)&&!(kWholeKey && Inner::template has<slot::key>),
                "norma: queries and keys are normed per head or all heads together, not both");
  using QuerySlot = std::conditional_t<kWholeQuery, slot::whole_query, slot::query>;
  using KeySlot = std::conditional_t<kWholeKey, slot::whole_key, slot::key>;
  using QueryEntry = Entry<QuerySlot>;
  using KeyEntry = Entry<KeySlot>;
  using ValueEntry = Entry<slot::value>;
  using RotatedQueryEntry = Entry<slot::rotated_query>;
  using RotatedKeyEntry = Entry<slot::rotated_key>;
  using OutputEntry = Entry<slot::before_output>;
  static constexpr bool kHeadScale = Inner::template has<slot::head_scale>;

 public:
  using Scalar = T;
  using takes = Takes<slot::query, slot::key, slot::value, slot::whole_query, slot::whole_key, slot::rotated_query,
                      slot::rotated_key, slot::score_scale, slot::head_scale, slot::before_output>;
  static constexpr bool needs_x = true;

  /// q, k, v, o: as projected (_in), turned by their positions (_turned), and as attended. Where an entry is empty, the
  /// second name is the first's view.
  struct Tape {
    kernels::AttentionProblem<T> problem;
    const Index* positions;
    MatrixView<const T> memory;
    MatrixView<T> d_memory;
    MatrixView<T> q, k, v, q_in, k_in, v_in, q_turned, k_turned, o, o_scaled, o_out, log_sums, cosines, sines;
    MatrixView<T> dq, dk, dv, d_o, distance_bias, d_distance_bias;
    typename Linear<T>::Tape query, key, value, output;
    typename QueryEntry::Tape query_entry;
    typename KeyEntry::Tape key_entry;
    typename ValueEntry::Tape value_entry;
    typename RotatedQueryEntry::Tape rotated_query_entry;
    typename RotatedKeyEntry::Tape rotated_key_entry;
    typename OutputEntry::Tape output_entry;
  };

  explicit MultiHeadAttention(const Dimensions& dims, const Inner& entries = {})
      : width_(dims.width),
        memory_width_(dims.read_width()),
        heads_(dims.heads),
        kv_heads_(dims.key_value_heads()),
        head_dim_(checked_head_dim(dims)),
        rotary_(kCross ? Rotary{} : checked_rotary(dims.rotary, head_dim_)),
        window_(kCross ? 0 : checked_window(dims.window)),
        score_cap_(kCross ? T(0) : checked_cap(dims.score_cap)),
        alibi_(!kCross && dims.alibi),
        relative_(kCross ? RelativeBias{} : checked_relative(dims.relative_bias)),
        projections_(dims.projections),
        bias_(dims.attention_bias),
        query_(heads_ * head_dim_, Kind::query, bias_),
        key_(kv_heads_ * head_dim_, Kind::key, bias_),
        value_(kv_heads_ * head_dim_, Kind::value, bias_),
        output_(dims.width, Kind::output, bias_),
        query_entry_(entries.template get<QuerySlot>(None{})),
        key_entry_(entries.template get<KeySlot>(None{})),
        value_entry_(entries.template get<slot::value>(None{})),
        rotated_query_entry_(entries.template get<slot::rotated_query>(None{})),
        rotated_key_entry_(entries.template get<slot::rotated_key>(None{})),
        output_entry_(entries.template get<slot::before_output>(None{})),
        head_scale_initial_(entries.template get<slot::head_scale>(1.0)),
        dropout_rate_(kernels::checked_rate(dims.dropout.attention, "dropout.attention")) {
    const double usual = dims.score_scale != 0 ? dims.score_scale : 1 / std::sqrt(static_cast<double>(head_dim_));
    score_scale_ = entries.template get<slot::score_scale>(usual);
    if (!kCross) score_scale_ *= dims.score_factor;
    if (!simd::is_finite(score_scale_)) fail("attention: score_scale is " + std::to_string(score_scale_));
  }

  Index outputs() const { return width_; }
  Index memory_width() const { return memory_width_; }

  void declare(Layout& layout, Index width) {
    if (width != width_)
      fail("attention: its width is " + std::to_string(width_) + ", its input's " + std::to_string(width));
    const auto declare = [&](const char* name, auto& module, Index w) {
      Layout::Level level(layout, name);
      module.declare(layout, w);
    };
    if (projections_ == Projections::separate || kCross) {
      declare("query", query_, width);
      declare("key", key_, kCross ? memory_width_ : width);
      declare("value", value_, kCross ? memory_width_ : width);
    } else {
      declare_fused(layout, width);
    }
    declare("query_entry", query_entry_, kWholeQuery ? heads_ * head_dim_ : head_dim_);
    declare("key_entry", key_entry_, kWholeKey ? kv_heads_ * head_dim_ : head_dim_);
    declare("value_entry", value_entry_, head_dim_);
    declare("rotated_query_entry", rotated_query_entry_, head_dim_);
    declare("rotated_key_entry", rotated_key_entry_, head_dim_);
    if constexpr (kHeadScale)
      head_scale_ = layout.add("head_scale", 1, heads_, Kind::scale, constant(head_scale_initial_));
    if (relative_.buckets > 0)
      relative_bias_ = layout.shared(Scope::stack, "relative_bias.weight", relative_.buckets, heads_, Kind::position);
    declare("before_output", output_entry_, heads_ * head_dim_);
    declare("output", output_, heads_ * head_dim_);
    dropout_name_ = layout.stream_name("dropout");
  }

  Tape plan(Plan& p, const Pass& pass) const {
    const Call& call = pass.call;
    const Shape& shape = pass.shape;
    Pass key_pass = pass;
    key_pass.shape = {shape.batch, kCross ? shape.memory_tokens : shape.tokens};
    const Index rows = shape.rows(), key_rows = key_pass.shape.rows(), width = heads_ * head_dim_,
                kv_width = kv_heads_ * head_dim_;
    Tape t{};
    t.problem = {shape.batch, shape.tokens, key_pass.shape.tokens, heads_, kv_heads_, head_dim_, score_scale_};
    validate(call, shape);
    if constexpr (kCross) {
      t.memory = call.memory.as<T>().matrix;
      t.d_memory = {static_cast<T*>(pass.d_memory), key_rows, t.memory.columns};
      t.problem.key_lengths = given(call.memory_lengths);
      t.problem.keep = call.memory_keep;
      t.problem.bias = call.memory_bias.as<T>();
    } else {
      t.problem.causal = call.causal;
      t.problem.align = call.align;
      t.problem.prefix = given(call.prefix);
      t.problem.window = window_;
      t.problem.cap = score_cap_;
      t.problem.key_lengths = given(call.lengths);
      t.problem.keep = call.keep;
      t.problem.bias = call.bias.as<T>();
    }
    t.problem.executor = p.executor();
    t.problem.packing = p.scratch<T>(p.workers(), kernels::attention_scratch<T>(head_dim_, p.training()));
    if (call.training && dropout_rate_ > 0)
      t.problem.dropout = {dropout_rate_, Rng(call.seed).stream(dropout_name_).substream(call.step)};

    t.q = t.q_in = t.q_turned = p.keep<T>(rows, width);
    t.k = t.k_in = t.k_turned = p.keep<T>(key_rows, kv_width);
    t.v = t.v_in = p.keep<T>(key_rows, kv_width);
    t.o = t.o_scaled = p.keep<T>(rows, width);
    if (active(rotated_query_entry_)) t.q_in = t.q_turned = p.keep_if<T>(RotatedQueryEntry::needs_x, rows, width);
    if (active(rotated_key_entry_)) t.k_in = t.k_turned = p.keep_if<T>(RotatedKeyEntry::needs_x, key_rows, kv_width);
    if (active(query_entry_)) t.q_in = p.keep_if<T>(QueryEntry::needs_x, rows, width);
    if (active(key_entry_)) t.k_in = p.keep_if<T>(KeyEntry::needs_x, key_rows, kv_width);
    if (active(value_entry_)) t.v_in = p.keep_if<T>(ValueEntry::needs_x, key_rows, kv_width);
    if constexpr (kHeadScale) t.o_scaled = p.keep_if<T>(!active(output_entry_) || OutputEntry::needs_x, rows, width);
    t.o_out = active(output_entry_) ? p.keep<T>(rows, width) : t.o_scaled;
    if (p.training()) t.log_sums = p.keep<T>(rows, heads_);
    if (rotary_.width > 0) {
      // Without positions of its own, every sequence turns alike.
      const Index angles = pass.positions_per_row() ? rows : shape.tokens;
      t.positions = given(call.positions);
      t.cosines = p.keep<T>(angles, rotary_.width / 2);
      t.sines = p.keep<T>(angles, rotary_.width / 2);
    }
    // Of every distance, -tokens to tokens - 1; counted as rows are, so that it does not overflow.
    const Index distances = Shape{2, shape.tokens}.rows();
    if (alibi_ || relative_.buckets > 0) t.problem.distance_bias = t.distance_bias = p.keep<T>(heads_, distances);
    if (relative_.buckets > 0) t.d_distance_bias = p.gradient<T>(Shape{shape.batch, heads_}.rows(), distances);
    t.dq = p.gradient<T>(rows, width);
    t.dk = p.gradient<T>(key_rows, kv_width);
    t.dv = p.gradient<T>(key_rows, kv_width);
    t.d_o = p.gradient<T>(rows, width);
    t.query = p.child(query_, pass);
    t.key = p.child(key_, key_pass);
    t.value = p.child(value_, key_pass);
    const auto per_head = [](Pass of_rows, Index heads) {
      of_rows.shape.tokens *= heads;
      return of_rows;
    };
    t.query_entry = p.child(query_entry_, per_head(pass, kWholeQuery ? 1 : heads_));
    t.key_entry = p.child(key_entry_, per_head(key_pass, kWholeKey ? 1 : kv_heads_));
    t.value_entry = p.child(value_entry_, per_head(key_pass, kv_heads_));
    t.rotated_query_entry = p.child(rotated_query_entry_, per_head(pass, heads_));
    t.rotated_key_entry = p.child(rotated_key_entry_, per_head(key_pass, kv_heads_));
    t.output_entry = p.child(output_entry_, pass);
    t.output = p.child(output_, pass);
    return t;
  }

  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& t) const {
    const MatrixView<const T> source = kCross ? t.memory : x;
    query_.forward(weights, x, t.q_in, t.query);
    key_.forward(weights, source, t.k_in, t.key);
    value_.forward(weights, source, t.v_in, t.value);
    const auto run = [&](const auto& entry, MatrixView<T> in, MatrixView<T> out, const auto& tape) {
      if (active(entry)) entry.forward(weights, MatrixView<const T>(in), out, tape);
    };
    run(query_entry_, queries(t.q_in), queries(t.q_turned), t.query_entry);
    run(key_entry_, keys(t.k_in), keys(t.k_turned), t.key_entry);
    run(value_entry_, per_head(t.v_in), per_head(t.v), t.value_entry);
    if (rotary_.width > 0) {
      kernels::rotary_angles(t.positions, rotary_, t.cosines, t.sines);
      turn(t.q_turned, t, 1);
      turn(t.k_turned, t, 1);
    }
    run(rotated_query_entry_, per_head(t.q_turned), per_head(t.q), t.rotated_query_entry);
    run(rotated_key_entry_, per_head(t.k_turned), per_head(t.k), t.rotated_key_entry);
    if (t.distance_bias.data != nullptr)
      kernels::distance_bias<T>(alibi_, relative_, relative_bias_.data_in(weights), t.problem.causal, t.distance_bias);
    kernels::attention_forward<T>(t.problem, t.q, t.k, t.v, t.o, t.log_sums);
    if constexpr (kHeadScale) scale_heads(head_scale_.in(weights).data, t.o, t.o_scaled);
    run(output_entry_, t.o_scaled, t.o_out, t.output_entry);
    output_.forward(weights, t.o_out, y, t.output);
  }

  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write,
                T* gradients, const Tape& t) const {
    const auto run = [&](const auto& entry, MatrixView<T> in, MatrixView<T> d, const auto& tape) {
      if (active(entry))
        entry.backward(weights, MatrixView<const T>(in), MatrixView<const T>(d), d, Write::assign, gradients, tape);
    };
    output_.backward(weights, t.o_out, dy, t.d_o, Write::assign, gradients, t.output);
    run(output_entry_, t.o_scaled, t.d_o, t.output_entry);
    if constexpr (kHeadScale)
      scale_heads_backward(head_scale_.in(weights).data, t.o, t.d_o, head_scale_.in(gradients).data);
    kernels::attention_backward<T>(t.problem, t.q, t.k, t.v, t.o, t.log_sums, t.d_o, t.dq, t.dk, t.dv,
                                   t.d_distance_bias);
    if (relative_.buckets > 0)
      kernels::distance_bias_backward<T>(relative_, heads_, t.problem.causal, t.d_distance_bias,
                                         relative_bias_.data_in(gradients));
    run(rotated_query_entry_, per_head(t.q_turned), per_head(t.dq), t.rotated_query_entry);
    run(rotated_key_entry_, per_head(t.k_turned), per_head(t.dk), t.rotated_key_entry);
    if (rotary_.width > 0) {
      turn(t.dq, t, -1);
      turn(t.dk, t, -1);
    }
    run(query_entry_, queries(t.q_in), queries(t.dq), t.query_entry);
    run(key_entry_, keys(t.k_in), keys(t.dk), t.key_entry);
    run(value_entry_, per_head(t.v_in), per_head(t.dv), t.value_entry);
    query_.backward(weights, x, t.dq, dx, write, gradients, t.query);
    const MatrixView<const T> source = kCross ? t.memory : x;
    const MatrixView<T> d_source = kCross ? t.d_memory : dx;
    key_.backward(weights, source, t.dk, d_source, Write::add, gradients, t.key);
    value_.backward(weights, source, t.dv, d_source, Write::add, gradients, t.value);
  }

 private:
  static Index checked_head_dim(const Dimensions& dims) {
    if (dims.heads < 1) fail("attention: " + std::to_string(dims.heads) + " heads, wanted at least 1");
    if (dims.kv_heads < 0) fail("attention: kv_heads is " + std::to_string(dims.kv_heads));
    const Index kv_heads = dims.key_value_heads();
    if (dims.heads % kv_heads != 0)
      fail("attention: " + std::to_string(kv_heads) + " key/value heads do not divide " + std::to_string(dims.heads) +
           " heads");
    if (dims.head_dim < 0) fail("attention: head_dim is " + std::to_string(dims.head_dim));
    if (dims.head_dim > 0) return dims.head_dim;
    if (dims.width % dims.heads != 0)
      fail("attention: " + std::to_string(dims.heads) + " heads do not divide width " + std::to_string(dims.width) +
           "; set head_dim");
    return dims.head_width();
  }
  static Rotary checked_rotary(Rotary rotary, Index head_dim) {
    if (rotary.width == Rotary::kWholeHead) rotary.width = head_dim;
    if (rotary.width % 2 != 0 || rotary.width < 0 || rotary.width > head_dim)
      fail("attention: rotary width " + std::to_string(rotary.width) + ", wanted an even number up to head_dim " +
           std::to_string(head_dim));
    const auto positive = [](double value) { return simd::is_finite(value) && value > 0; };
    if (rotary.local_base != 0 && !positive(rotary.local_base))
      fail("attention: rotary local_base is " + std::to_string(rotary.local_base) + ", wanted 0 or a positive number");
    if (!positive(rotary.base))
      fail("attention: rotary base is " + std::to_string(rotary.base) + ", wanted a positive number");
    if (!positive(rotary.factor))
      fail("attention: rotary factor is " + std::to_string(rotary.factor) + ", wanted a positive number");
    if (rotary.original_context < 0)
      fail("attention: rotary original_context is " + std::to_string(rotary.original_context) +
           ", wanted a number of tokens or 0");
    if (!positive(rotary.low_turns) || !positive(rotary.high_turns) || rotary.low_turns >= rotary.high_turns)
      fail("attention: rotary low_turns is " + std::to_string(rotary.low_turns) + " and high_turns " +
           std::to_string(rotary.high_turns) + ", wanted positive numbers that rise");
    return rotary;
  }
  static Index checked_window(const Window& window) {
    if (window.size < 0)
      fail("attention: window size is " + std::to_string(window.size) + ", wanted a number of tokens or 0");
    if (window.global_every < 0)
      fail("attention: window global_every is " + std::to_string(window.global_every) +
           ", wanted a number of layers or 0");
    return window.size;
  }
  static T checked_cap(double score_cap) {
    const T cap = static_cast<T>(score_cap);
    if (score_cap != 0 && !(simd::is_finite(cap) && cap > 0))
      fail("attention: score_cap is " + std::to_string(score_cap) + ", wanted 0 or a positive number");
    return cap;
  }
  static RelativeBias checked_relative(const RelativeBias& bias) {
    if (bias.buckets == 0) return bias;
    if (bias.buckets < 4 || bias.buckets % 2 != 0)
      fail("attention: relative_bias buckets is " + std::to_string(bias.buckets) +
           ", wanted an even number of at least 4, or 0");
    if (bias.max_distance <= bias.buckets / 2)
      fail("attention: relative_bias max_distance is " + std::to_string(bias.max_distance) +
           ", wanted more than half of " + std::to_string(bias.buckets) + " buckets");
    return bias;
  }

  /// Masks and positions fit the shape.
  void validate(const Call& call, const Shape& shape) const {
    const auto check_bias = [&](const char* name, const Bias& bias, Index keys) {
      if (!bias.empty() && bias.as<T>().empty())
        fail(std::string(name) + " is of another scalar type than the network");
      check_map(name, bias.as<T>(), shape.batch, heads_, shape.tokens, keys);
    };
    if constexpr (kCross) {
      check_map("memory_keep", call.memory_keep, shape.batch, heads_, shape.tokens, shape.memory_tokens);
      check_bias("memory_bias", call.memory_bias, shape.memory_tokens);
    } else {
      check_map("keep", call.keep, shape.batch, heads_, shape.tokens, shape.tokens);
      check_bias("bias", call.bias, shape.tokens);
      check_lengths("prefix", call.prefix, shape.batch, shape.tokens);
      const auto positions = static_cast<Index>(call.positions.size());
      if (positions != 0 && positions != shape.tokens && positions != shape.rows())
        fail("positions has " + std::to_string(positions) + " values, wanted " + std::to_string(shape.tokens) + " or " +
             std::to_string(shape.rows()));
      if (positions != 0 && rotary_.width == 0)
        fail("positions is given, but this network has no rotary positions (Dimensions::rotary)");
    }
  }

  void declare_fused(Layout& layout, Index width) {
    const Index q = heads_ * head_dim_, kv = kv_heads_ * head_dim_, rows = q + 2 * kv;
    RowGroups query{0, q, q, q}, key{q, kv, kv, kv}, value{q + kv, kv, kv, kv};
    if (projections_ == Projections::fused_per_head) {
      const Index group = q / kv_heads_, stride = rows / kv_heads_;
      query = {0, q, group, stride};
      key = {group, kv, head_dim_, stride};
      value = {group + head_dim_, kv, head_dim_, stride};
    }
    const Parameter weight =
        layout.add_fused("query_key_value.weight", rows, width, Kind::query | Kind::key | Kind::value,
                         {{layout.full_name("query.weight"), Kind::query, query},
                          {layout.full_name("key.weight"), Kind::key, key},
                          {layout.full_name("value.weight"), Kind::value, value}});
    Parameter bias;
    if (bias_)
      bias = layout.add_fused("query_key_value.bias", 1, rows, Kind::bias,
                              {{layout.full_name("query.bias"), Kind::bias, query},
                               {layout.full_name("key.bias"), Kind::bias, key},
                               {layout.full_name("value.bias"), Kind::bias, value}},
                              constant(0));
    query_.use(weight, query, bias_ ? &bias : nullptr);
    key_.use(weight, key, bias_ ? &bias : nullptr);
    value_.use(weight, value, bias_ ? &bias : nullptr);
  }

  /// The same memory with one row per token and head.
  MatrixView<T> per_head(MatrixView<T> m) const { return {m.data, m.size() / head_dim_, head_dim_}; }
  /// As their entries take them.
  MatrixView<T> queries(MatrixView<T> m) const { return kWholeQuery ? m : per_head(m); }
  MatrixView<T> keys(MatrixView<T> m) const { return kWholeKey ? m : per_head(m); }

  void turn(MatrixView<T> m, const Tape& t, int direction) const {
    kernels::rotate<T>(m, head_dim_, t.cosines, t.sines, rotary_.interleaved, static_cast<T>(direction));
  }
  void scale_heads(const T* factor, MatrixView<const T> x, MatrixView<T> y) const {
    for (Index r = 0; r < x.rows; ++r)
      for (Index i = 0; i < x.columns; ++i) y.row(r)[i] = factor[i / head_dim_] * x.row(r)[i];
  }
  void scale_heads_backward(const T* factor, MatrixView<const T> x, MatrixView<T> d, T* gradient) const {
    for (Index h = 0; h < heads_; ++h) {
      const MatrixView<T> ds = d.middle_columns(h * head_dim_, head_dim_);
      gradient[h] += static_cast<T>(kernels::dot<T>(x.middle_columns(h * head_dim_, head_dim_), ds));
      kernels::scale(ds, factor[h], ds);
    }
  }

  Index width_, memory_width_, heads_, kv_heads_, head_dim_;
  Rotary rotary_;
  Index window_;
  T score_cap_;
  bool alibi_;
  RelativeBias relative_;
  Projections projections_;
  bool bias_;
  double score_scale_ = 1;
  Linear<T> query_, key_, value_, output_;
  QueryEntry query_entry_;
  KeyEntry key_entry_;
  ValueEntry value_entry_;
  RotatedQueryEntry rotated_query_entry_;
  RotatedKeyEntry rotated_key_entry_;
  OutputEntry output_entry_;
  double head_scale_initial_;
  Parameter head_scale_{}, relative_bias_{};
  double dropout_rate_;
  std::string dropout_name_;
};

template <class T, class Inner>
inline constexpr bool kReadsMemory<MultiHeadAttention<T, Inner, true>> = true;
template <class T, class Inner, bool kCross, Role R>
inline constexpr bool kServes<MultiHeadAttention<T, Inner, kCross>, R> = R == (kCross ? Role::cross_attention
                                                                                      : Role::attention);

// Names for the arguments of Block and DecoderBlock.
template <class T, class Inner = Entries<>>
using Attention = MultiHeadAttention<T, Inner, false>;
template <class T, class Inner = Entries<>>
using CrossAttention = MultiHeadAttention<T, Inner, true>;

}  // namespace norma::inline v0_1::inline NORMA_TARGET
