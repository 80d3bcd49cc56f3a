// SPDX-License-Identifier: MIT
#pragma once

#include <norma/core/entries.hpp>
#include <norma/kernels/activation.hpp>
#include <norma/kernels/dropout.hpp>
#include <norma/sublayer/linear.hpp>

#include <string>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// The feed-forward sublayer with activation `Act`, plain (Vaswani et al., arXiv 1706.03762, equation 2) or gated
/// (Shazeer, arXiv 2002.05202, equation 6):
///
///   plain:  y = act(x W_up^T + b_up) W_down^T + b_down
///   gated:  y = (act(x W_gate^T + b_gate) * (x W_up^T + b_up)) W_down^T + b_down
///
/// Parameters: up and gate, weight [hidden, width] and bias [hidden]; down, weight [width, hidden] and bias [width];
/// with dims.packed_gate gate and up in one, gate_up [2 x hidden, width], the gate's rows first. `Inner` holds what the
/// policy puts inside: see `takes`.
template <class T, class Inner, class Act, bool kGated>
class FeedForward : public Product {
  template <class S>
  using Entry = decltype(std::declval<Inner>().template get<S>(None{}));
  // The activation's argument has a name of its own, and that of the projection it is.
  using Argument = std::conditional_t<kGated, slot::gate, slot::up>;
  static constexpr bool kArgumentNamed = Inner::template has<slot::before_activation>;
  static_assert(!kArgumentNamed || !Inner::template has<Argument>,
                "norma: before_activation and the slot of its projection are one place: fill one of them");
  using ArgumentSlot = std::conditional_t<kArgumentNamed, slot::before_activation, Argument>;
  using UpSlot = std::conditional_t<kGated, slot::up, ArgumentSlot>;
  using GateSlot = std::conditional_t<kGated, ArgumentSlot, slot::gate>;
  using UpEntry = Entry<UpSlot>;
  using GateEntry = Entry<GateSlot>;
  using HiddenEntry = Entry<slot::hidden>;

 public:
  using Scalar = T;
  using takes = std::conditional_t<kGated, Takes<slot::up, slot::gate, slot::before_activation, slot::hidden>,
                                   Takes<slot::up, slot::before_activation, slot::hidden>>;
  static constexpr bool needs_x = true;

  /// a: the argument of the activation; b: what the gate multiplies; h: the product; h_out: after the entry.
  struct Tape {
    MatrixView<T> a_in, a, b_in, b, h, h_out, da, db;
    kernels::Dropout dropout;
    Executor executor;
    typename Linear<T>::Tape up, gate, down;
    typename UpEntry::Tape up_entry;
    typename GateEntry::Tape gate_entry;
    typename HiddenEntry::Tape hidden_entry;
  };

  explicit FeedForward(const Dimensions& dims, const Inner& entries = {})
      : width_(dims.width),
        hidden_(checked_hidden(dims)),
        packed_(kGated && dims.packed_gate),
        bias_(dims.feed_forward_bias),
        up_(hidden_, Kind::up, bias_),
        gate_(hidden_, Kind::up, bias_),
        down_(dims.width, Kind::down, bias_),
        up_entry_(entries.template get<UpSlot>(None{})),
        gate_entry_(entries.template get<GateSlot>(None{})),
        hidden_entry_(entries.template get<slot::hidden>(None{})),
        dropout_rate_(kernels::checked_rate(dims.dropout.hidden, "dropout.hidden")) {}

  Index outputs() const { return width_; }

  void declare(Layout& layout, Index width) {
    if (width != width_)
      fail("feed-forward: its width is " + std::to_string(width_) + ", its input's " + std::to_string(width));
    const auto declare = [&](const char* name, auto& module, Index w) {
      Layout::Level level(layout, name);
      module.declare(layout, w);
    };
    if (packed_) {
      declare_packed(layout, width);
    } else {
      if constexpr (kGated) declare("gate", gate_, width);
      declare("up", up_, width);
    }
    constexpr const char* kArgumentName = kArgumentNamed ? "before_activation" : kGated ? "gate_entry" : "up_entry";
    declare(kGated ? kArgumentName : "gate_entry", gate_entry_, hidden_);
    declare(kGated ? "up_entry" : kArgumentName, up_entry_, hidden_);
    declare("hidden_entry", hidden_entry_, hidden_);
    declare("down", down_, hidden_);
    dropout_name_ = layout.stream_name("dropout");
  }

  Tape plan(Plan& p, const Pass& pass) const {
    const Index rows = pass.shape.rows();
    Tape t{};
    // Plain, the activation acts on the up projection; gated, on the gate.
    const bool a_entry = kGated ? active(gate_entry_) : active(up_entry_);
    constexpr bool kNeedsA = kGated ? GateEntry::needs_x : UpEntry::needs_x;
    t.a = t.a_in = p.keep<T>(rows, hidden_);
    if (a_entry) t.a_in = p.keep_if<T>(kNeedsA, rows, hidden_);
    if constexpr (kGated) {
      t.b = t.b_in = p.keep<T>(rows, hidden_);
      if (active(up_entry_)) t.b_in = p.keep_if<T>(UpEntry::needs_x, rows, hidden_);
      t.db = p.gradient<T>(rows, hidden_);
    }
    // Without a backward the activation works in place.
    t.h = p.training() ? p.keep_if<T>(!active(hidden_entry_) || HiddenEntry::needs_x, rows, hidden_) : t.a;
    t.h_out = t.h;
    if (active(hidden_entry_)) t.h_out = p.keep<T>(rows, hidden_);
    t.da = p.gradient<T>(rows, hidden_);
    t.executor = p.executor();
    if (pass.call.training && dropout_rate_ > 0)
      t.dropout = {dropout_rate_, Rng(pass.call.seed).stream(dropout_name_).substream(pass.call.step)};
    t.up = p.child(up_, pass);
    if constexpr (kGated) t.gate = p.child(gate_, pass);
    t.up_entry = p.child(up_entry_, pass);
    t.gate_entry = p.child(gate_entry_, pass);
    t.hidden_entry = p.child(hidden_entry_, pass);
    t.down = p.child(down_, pass);
    return t;
  }

  void forward(const T* weights, MatrixView<const T> x, MatrixView<T> y, const Tape& t) const {
    const auto run = [&](const auto& entry, MatrixView<T> in, MatrixView<T> out, const auto& tape) {
      if (active(entry)) entry.forward(weights, MatrixView<const T>(in), out, tape);
    };
    const auto activate = [&](Index row, Index column, Index rows, Index columns) {
      for (Index r = row; r < row + rows; ++r) {
        const T *a = t.a.row(r) + column, *b = kGated ? t.b.row(r) + column : nullptr;
        T* h = t.h.row(r) + column;
        simd::for_each_pack_once<T>(columns, [&](Index i, Index k) NORMA_INLINE_LAMBDA {
          simd::Pack<T> value = Act::value(simd::load_up_to(a + i, k));
          if constexpr (kGated) value = value * simd::load_up_to(b + i, k);
          simd::store_up_to(h + i, value, k);
        });
      }
    };
    if constexpr (kGated) {
      gate_.forward(weights, x, t.a_in, t.gate);
      run(gate_entry_, t.a_in, t.a, t.gate_entry);
    }
    // Follows the product at once, unless an entry stands between.
    const bool at_once = !active(up_entry_);
    const MatrixView<T> in = kGated ? t.b_in : t.a_in, out = kGated ? t.b : t.a;
    up_.forward(weights, x, in, t.up, at_once ? kernels::Finish::with(activate) : kernels::Finish{});
    if (!at_once) {
      run(up_entry_, in, out, t.up_entry);
      over_rows(t, activate);
    }
    run(hidden_entry_, t.h, t.h_out, t.hidden_entry);
    kernels::drop_elements(t.dropout, t.h_out);
    down_.forward(weights, t.h_out, y, t.down);
  }

  void backward(const T* weights, MatrixView<const T> x, MatrixView<const T> dy, MatrixView<T> dx, Write write,
                T* gradients, const Tape& t) const {
    const auto run = [&](const auto& entry, MatrixView<T> in, MatrixView<T> d, const auto& tape) {
      if (active(entry))
        entry.backward(weights, MatrixView<const T>(in), MatrixView<const T>(d), d, Write::assign, gradients, tape);
    };
    const auto activate_backward = [&](Index row, Index column, Index rows, Index columns) {
      for (Index r = row; r < row + rows; ++r) {
        const T *a = t.a.row(r) + column, *b = kGated ? t.b.row(r) + column : nullptr;
        T *da = t.da.row(r) + column, *db = kGated ? t.db.row(r) + column : nullptr;
        simd::for_each_pack_once<T>(columns, [&](Index i, Index k) NORMA_INLINE_LAMBDA {
          const simd::Pack<T> dh = simd::load_up_to(da + i, k), argument = simd::load_up_to(a + i, k);
          simd::Pack<T> d = dh * Act::derivative(argument);
          if constexpr (kGated) {
            simd::store_up_to(db + i, dh * Act::value(argument), k);
            d = d * simd::load_up_to(b + i, k);
          }
          simd::store_up_to(da + i, d, k);
        });
      }
    };
    const bool at_once = !active(hidden_entry_) && !t.dropout.acts();
    down_.backward(weights, t.h_out, dy, t.da, Write::assign, gradients, t.down,
                   at_once ? kernels::Finish::with(activate_backward) : kernels::Finish{});
    if (!at_once) {
      kernels::drop_elements(t.dropout, t.da);
      run(hidden_entry_, t.h, t.da, t.hidden_entry);
      over_rows(t, activate_backward);
    }
    if constexpr (kGated) {
      run(gate_entry_, t.a_in, t.da, t.gate_entry);
      run(up_entry_, t.b_in, t.db, t.up_entry);
      gate_.backward(weights, x, t.da, dx, write, gradients, t.gate);
      up_.backward(weights, x, t.db, dx, Write::add, gradients, t.up);
    } else {
      run(up_entry_, t.a_in, t.da, t.up_entry);
      up_.backward(weights, x, t.da, dx, write, gradients, t.up);
    }
  }

 private:
  /// f of whole rows, on the workers.
  template <class F>
  static void over_rows(const Tape& t, const F& f) {
    t.executor.split(t.a.rows, 1, [&](Index, Index begin, Index end) { f(begin, 0, end - begin, t.a.columns); });
  }
  static Index checked_hidden(const Dimensions& dims) {
    if (dims.hidden < 0)
      fail("feed-forward: hidden is " + std::to_string(dims.hidden) + ", wanted at least 1, or 0 for 4 x width");
    return dims.hidden > 0 ? dims.hidden : 4 * dims.width;
  }
  void declare_packed(Layout& layout, Index width) {
    const RowGroups gate = RowGroups::all(hidden_), up{hidden_, hidden_, hidden_, hidden_};
    const Parameter weight = layout.add_fused(
        "gate_up.weight", 2 * hidden_, width, Kind::up,
        {{layout.full_name("gate.weight"), Kind::up, gate}, {layout.full_name("up.weight"), Kind::up, up}});
    Parameter bias;
    if (bias_)
      bias = layout.add_fused(
          "gate_up.bias", 1, 2 * hidden_, Kind::bias,
          {{layout.full_name("gate.bias"), Kind::bias, gate}, {layout.full_name("up.bias"), Kind::bias, up}},
          constant(0));
    gate_.use(weight, gate, bias_ ? &bias : nullptr);
    up_.use(weight, up, bias_ ? &bias : nullptr);
  }

  Index width_, hidden_;
  bool packed_, bias_;
  Linear<T> up_, gate_, down_;
  UpEntry up_entry_;
  GateEntry gate_entry_;
  HiddenEntry hidden_entry_;
  double dropout_rate_;
  std::string dropout_name_;
};

template <class T, class Inner, class Act, bool kGated, Role R>
inline constexpr bool kServes<FeedForward<T, Inner, Act, kGated>, R> = R == Role::feed_forward;

// Names for the argument of Block.
template <class T, class Inner = Entries<>>
using ReLU = FeedForward<T, Inner, activation::ReLU, false>;
template <class T, class Inner = Entries<>>
using GELU = FeedForward<T, Inner, activation::GELU, false>;
template <class T, class Inner = Entries<>>
using GELUTanh = FeedForward<T, Inner, activation::GELUTanh, false>;
template <class T, class Inner = Entries<>>
using SiLU = FeedForward<T, Inner, activation::SiLU, false>;
template <class T, class Inner = Entries<>>
using SquaredReLU = FeedForward<T, Inner, activation::SquaredReLU, false>;
template <class T, class Inner = Entries<>>
using QuickGELU = FeedForward<T, Inner, activation::QuickGELU, false>;
template <class T, class Inner = Entries<>>
using GeGLU = FeedForward<T, Inner, activation::GELU, true>;
template <class T, class Inner = Entries<>>
using GeGLUTanh = FeedForward<T, Inner, activation::GELUTanh, true>;
template <class T, class Inner = Entries<>>
using ReGLU = FeedForward<T, Inner, activation::ReLU, true>;
template <class T, class Inner = Entries<>>
using SwiGLU = FeedForward<T, Inner, activation::SiLU, true>;

}  // namespace norma::inline v0_1::inline NORMA_TARGET
