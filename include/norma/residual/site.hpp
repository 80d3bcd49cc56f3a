// SPDX-License-Identifier: MIT
// One sublayer with its norms and its join. The only file that writes the order of a residual site:
//
//   S1 = In(S)    u = Pre(S1)    v = F(u)    w = Drop(Post(v))    S2 = Join(S1, w)    S' = Out(S2)
//
// In and Out act on part 0. An empty slot costs nothing: its output is its input's view. Join and Out run as one kernel
// where both can.
#pragma once

#include <norma/kernels/dropout.hpp>
#include <norma/residual/table.hpp>

#include <string>

namespace norma::inline v0_1::inline NORMA_TARGET {

namespace detail {
struct LooksAtNothing {
  template <class... A>
  void operator()(const A&...) const {}
};
}  // namespace detail

template <class T, class Table, class F>
class Site {
  template <class S, class D>
  using Slot = decltype(std::declval<Table>().template get<S>(std::declval<D>()));
  using In = Slot<slot::in, None>;
  using Pre = Slot<slot::pre, None>;
  using Post = Slot<slot::post, None>;
  using Joiner = Slot<slot::join, Add>;
  using Out = Slot<slot::out, None>;

 public:
  static constexpr int kParts = Table::parts;
  static constexpr bool kFused = kIsScaledSum<Joiner> && kNormsSums<Out>;
  static constexpr bool kCalibrates = std::is_base_of_v<CalibratedJoin, Joiner>;
  static_assert(detail::JoinOf<Joiner, kParts, T>,
                "norma: slot join has a join of another scalar type than the block: typename decltype(at)::Scalar");
  static_assert(Joiner::writes(0) || (std::is_same_v<In, None> && std::is_same_v<Out, None>),
                "norma: with in() or out(), which change part 0, the join writes part 0");

  struct Tape {
    Stream<kParts, const T> s, s1, y;      // before the site, after In, after the site
    MatrixView<const T> u;                 // the sublayer's input
    MatrixView<T> w;                       // the branch that joins
    MatrixView<T> in_y, pre_y, v, post_y;  // what In, Pre, F and Post write
    Stream<kParts, T> joined, out_y;       // what Join writes, and where Out puts part 0
    MatrixView<T> dw, du;                  // gradients on the branch
    kernels::Dropout drop, path;           // of elements, of whole sequences
    Index tokens;
    typename In::Tape in;
    typename Pre::Tape pre;
    typename F::Tape f;
    typename Post::Tape post;
    detail::JoinTape<Joiner> join;
    typename Out::Tape out;
  };

  Site(const Table& table, F sublayer, Layout& layout, Index width, const DropRates& rates, const Depth& depth)
      : in_(table.template get<slot::in>(None{})),
        pre_(table.template get<slot::pre>(None{})),
        post_(table.template get<slot::post>(None{})),
        join_(table.template get<slot::join>(Add{})),
        out_(table.template get<slot::out>(None{})),
        f_(std::move(sublayer)),
        width_(width),
        drop_rate_(kernels::checked_rate(rates.branch, "dropout.branch")),
        path_rate_(kernels::checked_rate(rates.path, "dropout.path") * rise(rates, depth)),
        drop_name_(layout.stream_name("branch_dropout")),
        path_name_(layout.stream_name("drop_path")) {
    layout.begin_site();
    layout.set_gain(table.template get<slot::gain>(Gain{}));
    const auto declare = [&](const char* name, auto& module) {
      Layout::Level level(layout, name);
      module.declare(layout, width);
    };
    declare("in", in_);
    declare("pre", pre_);
    f_.declare(layout, width);
    declare("post", post_);
    declare("join", join_);
    declare("out", out_);
    layout.set_gain({});
  }

  static constexpr bool writes(int part) { return Joiner::writes(part); }

  /// s: the stream before the site; to: where the parts that it writes go.
  Tape plan(Plan& p, const Pass& pass, const Stream<kParts, const T>& s, const Stream<kParts, T>& to) const {
    const Index rows = pass.shape.rows();
    Tape t{};
    t.s = t.s1 = s;
    if (active(in_)) t.s1[0] = t.in_y = p.keep<T>(rows, width_);
    t.u = t.s1[0];
    if (active(pre_)) t.u = t.pre_y = p.keep_if<T>(F::needs_x, rows, width_);

    t.dw = p.gradient<T>(rows, width_);
    if (active(pre_)) t.du = p.gradient<T>(rows, width_);
    // What backward does not read again, forward keeps where backward will put the gradient.
    const bool keep_v = active(post_) ? Post::needs_x : Joiner::needs_branch;
    t.v = keep_v || !p.training() ? p.keep<T>(rows, width_) : t.dw;
    t.w = t.v;
    if (active(post_)) t.w = t.post_y = p.keep_if<T>(Joiner::needs_branch, rows, width_);

    t.joined = t.out_y = to;
    if (active(out_)) {
      const bool unused = kFused && !p.training();
      t.joined[0] = unused ? MatrixView<T>() : p.keep_if<T>(Out::needs_x, rows, width_);
    }
    for (int i = 0; i < kParts; ++i) t.y[i] = Joiner::writes(i) ? MatrixView<const T>(to[i]) : t.s1[i];

    t.drop = dropout(pass.call, drop_rate_, drop_name_);
    t.path = dropout(pass.call, path_rate_, path_name_);
    t.tokens = pass.shape.tokens;

    t.in = p.child(in_, pass);
    t.pre = p.child(pre_, pass);
    t.f = p.child(f_, pass);
    t.post = p.child(post_, pass);
    t.join = detail::plan_join(join_, p, pass);
    t.out = p.child(out_, pass);
    return t;
  }

  /// before_join(join, stream, branch) looks at what is about to be joined: see Calibration.
  template <class Look = detail::LooksAtNothing>
  void forward(const T* weights, const Tape& t, const Look& before_join = {}) const {
    if (active(in_)) in_.forward(weights, t.s[0], t.in_y, t.in);
    if (active(pre_)) read(pre_, weights, t.s1, t.pre_y, t.pre);
    f_.forward(weights, t.u, t.v, t.f);
    if (active(post_)) post_.forward(weights, MatrixView<const T>(t.v), t.post_y, t.post);
    drop(t, t.w);
    const MatrixView<const T> w = t.w;
    before_join(join_, t.s1, w);
    if constexpr (kFused) {
      out_.forward_sum(weights, join_.sum(t.s1[0], w), t.joined[0], t.out_y[0], t.out);
    } else {
      detail::join_forward(join_, weights, t.s1, w, t.joined, t.join);
      if (active(out_)) out_.forward(weights, MatrixView<const T>(t.joined[0]), t.out_y[0], t.out);
    }
  }

  /// ds: gradient of the stream after the site, becomes that of the stream before it.
  void backward(const T* weights, const Stream<kParts, T>& ds, T* gradients, const Tape& t) const {
    const MatrixView<const T> dw = t.dw, du = t.du, ds0 = ds[0];
    const MatrixView<const T> w = t.w, joined = t.joined[0];
    if constexpr (kFused) {
      out_.backward_sum(weights, join_.sum(t.s1[0], w), joined, ds0, ds[0], t.dw, gradients, t.out);
    } else {
      if (active(out_)) out_.backward(weights, joined, ds0, ds[0], Write::assign, gradients, t.out);
      detail::join_backward(join_, weights, t.s1, w, ds, t.dw, gradients, t.join);
    }
    drop(t, t.dw);
    if (active(post_)) post_.backward(weights, MatrixView<const T>(t.v), dw, t.dw, Write::assign, gradients, t.post);
    if (active(pre_)) {
      f_.backward(weights, t.u, dw, t.du, Write::assign, gradients, t.f);
      read_backward(pre_, weights, t.s1, du, ds, gradients, t.pre);
    } else {
      f_.backward(weights, t.u, dw, ds[0], Write::add, gradients, t.f);
    }
    if (active(in_)) in_.backward(weights, t.s[0], ds0, ds[0], Write::assign, gradients, t.in);
  }

 private:
  /// Drop path may rise with depth, as in DeiT: from nothing in the first block to its full rate in the last.
  static double rise(const DropRates& rates, const Depth& depth) {
    if (!rates.path_rises) return 1;
    return depth.layers > 1 ? (depth.layer - 1.0) / (depth.layers - 1.0) : 0.0;
  }
  static kernels::Dropout dropout(const Call& call, double rate, const std::string& name) {
    if (!call.training || rate == 0) return {};
    return {rate, Rng(call.seed).stream(name).substream(call.step)};
  }
  /// The branch forward, its gradient backward.
  static void drop(const Tape& t, MatrixView<T> branch) {
    kernels::drop_elements(t.drop, branch);
    kernels::drop_samples(t.path, t.tokens, branch);
  }

  In in_;
  Pre pre_;
  Post post_;
  Joiner join_;
  Out out_;
  F f_;
  Index width_;
  double drop_rate_, path_rate_;
  std::string drop_name_, path_name_;
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
