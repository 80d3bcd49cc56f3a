// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>

#include <norma/core/entries.hpp>
#include <norma/kernels/attention.hpp>
#include <norma/sublayer/linear.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// Multi-head self-attention (Vaswani et al., arXiv 1706.03762, section 3.2.2), causal when the Call says so.
///
///   q, k, v = x W_q^T + b_q, x W_k^T + b_k, x W_v^T + b_v
///   y = concat_h(softmax(q_h k_h^T / sqrt(head_dim)) v_h) W_o^T + b_o
///
/// Parameters: query, key, value, output, each weight [width, width] and bias [width]. Memory is linear in tokens.
/// `Inner` holds what the policy puts inside: see `takes`.
template <class T, class Inner = Entries<>>
class Attention {
  template <class S>
  using Entry = decltype(std::declval<Inner>().template get<S>(None{}));
  using QueryEntry = Entry<slot::query>;
  using KeyEntry = Entry<slot::key>;
  using ValueEntry = Entry<slot::value>;
  using OutputEntry = Entry<slot::before_output>;
  static constexpr bool kHeadScale = Inner::template has<slot::head_scale>;

 public:
  using Scalar = T;
  using takes = Takes<slot::query, slot::key, slot::value, slot::score_scale, slot::head_scale, slot::before_output>;
  static constexpr bool needs_x = true;

  /// q, k, v, o: as projected and as attended. Where an entry is empty, the second name is the first's view.
  struct Tape {
    kernels::AttentionShape shape;
    MatrixView<T> q, k, v, q_in, k_in, v_in, o, o_scaled, o_out, lse;
    MatrixView<T> dq, dk, dv, d_o;
    typename Linear<T>::Tape query, key, value, output;
    typename QueryEntry::Tape query_entry;
    typename KeyEntry::Tape key_entry;
    typename ValueEntry::Tape value_entry;
    typename OutputEntry::Tape output_entry;
  };

  Attention(const Dimensions& dims, const Inner& entries)
      : heads_(dims.heads),
        query_(dims.width, Kind::query),
        key_(dims.width, Kind::key),
        value_(dims.width, Kind::value),
        output_(dims.width, Kind::output),
        query_entry_(entries.template get<slot::query>(None{})),
        key_entry_(entries.template get<slot::key>(None{})),
        value_entry_(entries.template get<slot::value>(None{})),
        output_entry_(entries.template get<slot::before_output>(None{})),
        head_scale_initial_(entries.template get<slot::head_scale>(1.0)) {
    if (heads_ <= 0 || dims.width % heads_ != 0)
      fail("attention: " + std::to_string(heads_) + " heads do not divide width " + std::to_string(dims.width));
    head_dim_ = dims.width / heads_;
    score_scale_ = entries.template get<slot::score_scale>(1 / std::sqrt(static_cast<double>(head_dim_)));
  }

  void declare(Layout& layout, Index width) {
    const auto declare = [&](const char* name, auto& module, Index w) {
      Layout::Level level(layout, name);
      module.declare(layout, w);
    };
    declare("query", query_, width);
    declare("key", key_, width);
    declare("value", value_, width);
    declare("query_entry", query_entry_, head_dim_);
    declare("key_entry", key_entry_, head_dim_);
    declare("value_entry", value_entry_, head_dim_);
    if constexpr (kHeadScale) head_scale_ = layout.add("head_scale", 1, heads_, Kind::scale, constant(head_scale_initial_));
    declare("before_output", output_entry_, width);
    declare("output", output_, width);
  }

  Tape plan(Plan& p, const Pass& pass) const {
    const Index rows = pass.shape.rows(), width = heads_ * head_dim_;
    Tape t{};
    t.shape = {pass.shape.batch, pass.shape.tokens, pass.shape.tokens, heads_, head_dim_, score_scale_, pass.call.causal};
    const auto keep = [&] { return p.keep<T>(rows, width); };
    t.q = t.q_in = keep();
    t.k = t.k_in = keep();
    t.v = t.v_in = keep();
    t.o = t.o_scaled = keep();
    if (active(query_entry_)) t.q_in = p.keep_if<T>(QueryEntry::needs_x, rows, width);
    if (active(key_entry_)) t.k_in = p.keep_if<T>(KeyEntry::needs_x, rows, width);
    if (active(value_entry_)) t.v_in = p.keep_if<T>(ValueEntry::needs_x, rows, width);
    if constexpr (kHeadScale) t.o_scaled = keep();
    t.o_out = active(output_entry_) ? keep() : t.o_scaled;
    t.lse = p.keep<T>(rows, heads_);
    for (auto* d : {&t.dq, &t.dk, &t.dv, &t.d_o}) *d = p.gradient<T>(rows, width);
    t.query = p.child(query_, pass);
    t.key = p.child(key_, pass);
    t.value = p.child(value_, pass);
    const Pass per_head{{pass.shape.batch, pass.shape.tokens * heads_}, pass.call};
    t.query_entry = p.child(query_entry_, per_head);
    t.key_entry = p.child(key_entry_, per_head);
    t.value_entry = p.child(value_entry_, per_head);
    t.output_entry = p.child(output_entry_, pass);
    t.output = p.child(output_, pass);
    return t;
  }

  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& t) const {
    query_.forward(weights, x, t.q_in, t.query);
    key_.forward(weights, x, t.k_in, t.key);
    value_.forward(weights, x, t.v_in, t.value);
    const auto run = [&](const auto& entry, MatrixView<T> in, MatrixView<T> out, const auto& tape) {
      if (active(entry)) entry.forward(weights, MatrixView<const T>(in), out, tape);
    };
    run(query_entry_, per_head(t.q_in), per_head(t.q), t.query_entry);
    run(key_entry_, per_head(t.k_in), per_head(t.k), t.key_entry);
    run(value_entry_, per_head(t.v_in), per_head(t.v), t.value_entry);
    kernels::attention_forward<T>(t.shape, t.q, t.k, t.v, t.o, t.lse);
    if constexpr (kHeadScale) scale_heads(head_scale_.in(weights).data, t.o, t.o_scaled);
    run(output_entry_, t.o_scaled, t.o_out, t.output_entry);
    output_.forward(weights, t.o_out, y, t.output);
  }

  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write, T* gradients,
                const Tape& t) const {
    const auto run = [&](const auto& entry, MatrixView<T> in, MatrixView<T> d, const auto& tape) {
      if (active(entry))
        entry.backward(weights, MatrixView<const T>(in), MatrixView<const T>(d), d, Write::assign, gradients, tape);
    };
    output_.backward(weights, t.o_out, dy, t.d_o, Write::assign, gradients, t.output);
    run(output_entry_, t.o_scaled, t.d_o, t.output_entry);
    if constexpr (kHeadScale) scale_heads_backward(head_scale_.in(weights).data, t.o, t.d_o, head_scale_.in(gradients).data);
    kernels::attention_backward<T>(t.shape, t.q, t.k, t.v, t.o, t.lse, t.d_o, t.dq, t.dk, t.dv);
    run(query_entry_, per_head(t.q_in), per_head(t.dq), t.query_entry);
    run(key_entry_, per_head(t.k_in), per_head(t.dk), t.key_entry);
    run(value_entry_, per_head(t.v_in), per_head(t.dv), t.value_entry);
    query_.backward(weights, x, t.dq, dx, write, gradients, t.query);
    key_.backward(weights, x, t.dk, dx, Write::add, gradients, t.key);
    value_.backward(weights, x, t.dv, dx, Write::add, gradients, t.value);
  }

 private:
  /// The same memory with one row per token and head.
  MatrixView<T> per_head(MatrixView<T> m) const { return {m.data, m.rows * heads_, head_dim_}; }

  void scale_heads(const T* factor, MatrixView<const T> x, MatrixView<T> y) const {
    for (Index r = 0; r < x.rows; ++r)
      for (Index i = 0; i < x.columns; ++i) y.row(r)[i] = factor[i / head_dim_] * x.row(r)[i];
  }
  void scale_heads_backward(const T* factor, MatrixView<const T> x, MatrixView<T> d, T* gradient) const {
    for (Index h = 0; h < heads_; ++h) {
      const MatrixView<const T> xs{x.data + h * head_dim_, x.rows, head_dim_, x.stride};
      const MatrixView<T> ds{d.data + h * head_dim_, d.rows, head_dim_, d.stride};
      gradient[h] += static_cast<T>(kernels::dot<T>(xs, ds));
      kernels::scale<T>(ds, factor[h], ds);
    }
  }

  Index heads_, head_dim_ = 0;
  double score_scale_ = 1;
  Linear<T> query_, key_, value_, output_;
  QueryEntry query_entry_;
  KeyEntry key_entry_;
  ValueEntry value_entry_;
  OutputEntry output_entry_;
  double head_scale_initial_;
  Parameter head_scale_{};
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
