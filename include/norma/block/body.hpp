// SPDX-License-Identifier: MIT
// The inside of a block: its sites in order, on a stream.
#pragma once

#include <norma/residual/site.hpp>
#include <norma/sublayer/combine.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// A sublayer template and the role that it plays in a block.
template <Role R, template <class, class> class F>
struct Use {
  static constexpr Role role = R;
  static constexpr const char* name() {
    switch (R) {
      case Role::attention:
        return "attention";
      case Role::cross_attention:
        return "cross_attention";
      case Role::feed_forward:
        return "feed_forward";
      default:
        return "parallel";
    }
  }
};
/// Several of them on one input, added up: one site, of Role::parallel. What a policy puts inside a sublayer it still
/// says at the sublayer's own role; what stands around the sum, and `branch`, at Role::parallel.
template <class... Uses>
struct Parallel {
  static constexpr Role role = Role::parallel;
  static constexpr const char* name() { return "parallel"; }
};

namespace detail {

template <class Sublayer, Role R, class... F>
constexpr void check_takes(const Entries<F...>*) {
  static_assert(
      kServes<Sublayer, R>,
      "norma: a sublayer stands in the place of another role: Block<Policy, Scalar, Norm, Attention, FeedForward>");
  static_assert((Sublayer::takes::template has<typename F::Slot> && ...),
                "norma: the policy fills an inner entry that this sublayer does not take (see its `takes`)");
}

/// What a site's policy is asked with.
template <class Policy, class Norm>
struct SiteContext {
  const Policy& policy;
  const Norm& norm;
  const Dimensions& dims;
  Depth depth;
  int site, sublayers;

  template <Role R>
  auto table() const {
    return policy.slots(At<R, Norm>{depth, site, norm, dims, sublayers});
  }
};
template <class Policy, class Norm, Role R>
using TableAt = decltype(std::declval<const Policy&>().slots(std::declval<const At<R, Norm>&>()));
template <class Policy, class Norm, Role R>
using InnerAt = decltype(inner_entries(std::declval<const TableAt<Policy, Norm, R>&>()));

/// The sublayer of a use, with what the policy puts inside.
template <class Policy, class Norm, class U>
struct SublayerOf;
template <class Policy, class Norm, Role R, template <class, class> class F>
struct SublayerOf<Policy, Norm, Use<R, F>> {
  using Inner = InnerAt<Policy, Norm, R>;
  using Type = F<typename Norm::Scalar, Inner>;
  template <class Table>
  static Type make(const SiteContext<Policy, Norm>& context, const Table& table) {
    check_takes<Type, R>(static_cast<const Inner*>(nullptr));
    return Type(context.dims.in_layer(context.depth.layer), inner_entries(table));
  }
};
template <class Policy, class Norm, class... Uses>
struct SublayerOf<Policy, Norm, Parallel<Uses...>> {
  using Inner = InnerAt<Policy, Norm, Role::parallel>;
  using Branch = decltype(std::declval<Inner>().template get<slot::branch>(None{}));
  using Type = Sum<Chain<Branch, typename SublayerOf<Policy, Norm, Uses>::Type>...>;
  static constexpr bool kGain = TableAt<Policy, Norm, Role::parallel>::template has<slot::gain>;
  static_assert(kGain || !(TableAt<Policy, Norm, Uses::role>::template has<slot::gain> || ...),
                "norma: the gain of a parallel block is the one that the policy says at Role::parallel");
  template <class Table>
  static Type make(const SiteContext<Policy, Norm>& context, const Table& table) {
    check_takes<Type, Role::parallel>(static_cast<const Inner*>(nullptr));
    const Branch branch = table.template get<slot::branch>(None{});
    return Type({Uses::name()...},
                {branch, SublayerOf<Policy, Norm, Uses>::make(context, context.template table<Uses::role>())}...);
  }
};

/// Whether each of these slots that one table fills is filled by another, too.
template <class... S, class Table, class Other>
constexpr bool also_fills(const Table*, const Other*) {
  return ((!Table::template has<S> || Other::template has<S>)&&...);
}

/// One site of a block, from the policy's table at its role.
template <class Policy, class Norm, class U>
struct SiteOf {
  using Table = TableAt<Policy, Norm, U::role>;
  using Ends = TableAt<Policy, Norm, Role::ends>;
  static_assert(also_fills<slot::open, slot::close, slot::logits, slot::after_step, slot::per_block>(
                    static_cast<const Table*>(nullptr), static_cast<const Ends*>(nullptr)),
                "norma: open, close, logits, after_step and per_block are read at Role::ends: say them there, too");
  using Maker = SublayerOf<Policy, Norm, U>;
  using Inner = typename Maker::Inner;
  using Sublayer = typename Maker::Type;
  using Type = Site<typename Norm::Scalar, Table, Sublayer>;

  static Type make(const SiteContext<Policy, Norm>& context, Layout& layout) {
    Layout::Level level(layout, U::name());
    const auto table = context.template table<U::role>();
    return Type(table, Maker::make(context, table), layout, context.dims.width, context.dims.dropout, context.depth);
  }
};

/// Sites one after another; ends with none.
template <class Policy, class Norm, class... Uses>
struct Sites {
  struct Tape {};
  static constexpr bool kCalibrates = false;
  Sites(const SiteContext<Policy, Norm>&, Layout&) {}
  static constexpr bool writes(int) { return false; }
  template <class S>
  static void carve(Plan&, Shape, Index, const S&, const void*) {}
  template <class S>
  Tape plan(Plan&, const Pass&, const S&, const void*) const {
    return {};
  }
  template <class T, class Look>
  void forward(const T*, const Tape&, const Look&) const {}
  template <class T, class S>
  void backward(const T*, const S&, T*, const Tape&) const {}
};

template <class Policy, class Norm, class First, class... Rest>
struct Sites<Policy, Norm, First, Rest...> {
  using T = typename Norm::Scalar;
  using Maker = SiteOf<Policy, Norm, First>;
  using SiteType = typename Maker::Type;
  using Next = Sites<Policy, Norm, Rest...>;
  static constexpr int kParts = SiteType::kParts;
  static constexpr bool kCalibrates = SiteType::kCalibrates || Next::kCalibrates;

  SiteType site;
  Next next;

  struct Tape {
    typename SiteType::Tape site;
    typename Next::Tape next;
  };

  Sites(const SiteContext<Policy, Norm>& at, Layout& layout)
      : site(Maker::make(at, layout)),
        next({at.policy, at.norm, at.dims, at.depth, at.site + 1, at.sublayers}, layout) {}

  /// Whether a site from here on writes this part of the stream.
  static constexpr bool writes(int part) { return SiteType::writes(part) || Next::writes(part); }
  /// Where every site writes, in to[0], to[1], ...: the last to write a part writes to y, the others to views carved
  /// here.
  static void carve(Plan& p, Shape shape, Index width, const Stream<kParts, T>& y, Stream<kParts, T>* to) {
    for (int i = 0; i < kParts; ++i)
      if (SiteType::writes(i)) (*to)[i] = Next::writes(i) ? p.keep<T>(shape.rows(), width) : y[i];
    Next::carve(p, shape, width, y, to + 1);
  }
  Tape plan(Plan& p, const Pass& pass, const Stream<kParts, const T>& s, const Stream<kParts, T>* to) const {
    Tape t{p.child(site, pass, s, *to), {}};
    t.next = next.plan(p, pass, t.site.y, to + 1);
    return t;
  }
  const Stream<kParts, const T>& output(const Tape& t) const {
    if constexpr (sizeof...(Rest) > 0)
      return next.output(t.next);
    else
      return t.site.y;
  }
  template <class Look>
  void forward(const T* weights, const Tape& t, const Look& before_join) const {
    site.forward(weights, t.site, before_join);
    next.forward(weights, t.next, before_join);
  }
  void backward(const T* weights, const Stream<kParts, T>& ds, T* gradients, const Tape& t) const {
    next.backward(weights, ds, gradients, t.next);
    site.backward(weights, ds, gradients, t.site);
  }
};

}  // namespace detail

/// Adds the gradients of the other parts to part 0: the backward of "every part starts as x".
template <std::size_t Parts, class T>
void join_parts(const std::array<MatrixView<T>, Parts>& ds) {
  for (std::size_t i = 1; i < Parts; ++i) kernels::add(ds[0], ds[i], ds[0]);
}

/// One block without ends: what a stack is made of. Between blocks the stream has as many parts
/// as inside, or one if per_block().
template <class PolicyType, class NormType, class... Uses>
class Body {
  // Not a constraint: the first error shall say what is missing.
  static_assert(norma::Policy<PolicyType, NormType>,
                "norma: a policy has `auto slots(auto at) const`, which returns a table made with place()");

 public:
  using Policy = PolicyType;
  using Norm = NormType;
  using T = typename NormType::Scalar;
  using Ends = decltype(std::declval<const Policy&>().slots(std::declval<const At<Role::ends, Norm>&>()));
  static constexpr int kParts = Ends::parts;
  static constexpr bool kPerBlock = Ends::template has<slot::per_block>;
  static constexpr int kBetween = kPerBlock ? 1 : kParts;
  static constexpr int kSites = static_cast<int>(sizeof...(Uses));
  static constexpr bool kReads = (kReadsMemory<typename detail::SiteOf<Policy, Norm, Uses>::Sublayer> || ...);

 private:
  using Sites = detail::Sites<Policy, Norm, Uses...>;

 public:
  /// Whether a join measures.
  static constexpr bool kCalibrates = Sites::kCalibrates;

 private:
  static_assert(Sites::kParts == kParts, "norma: a policy's stream has the same number of parts at every role");
  static_assert(Sites::writes(0), "norma: a join of the block writes part 0");

 public:
  struct Tape {
    typename Sites::Tape sites;
    Stream<kBetween, const T> y;  ///< the stream after the block
  };

  Body(const Policy& policy, const Norm& norm, const Dimensions& dims, Depth depth, Layout& layout)
      : sites_({policy, norm, dims, depth, kSites * (depth.layer - 1), kSites}, layout), width_(dims.width) {}

  /// The parts of the stream from `first` on that this block writes, for its owner to carve: they outlive it.
  Stream<kBetween, T> carve(Plan& p, Shape shape, int first) const {
    Stream<kBetween, T> y;
    for (int i = first; i < kBetween; ++i)
      if (Sites::writes(i)) y[i] = p.keep<T>(shape.rows(), width_);
    return y;
  }

  Tape plan(Plan& p, const Pass& pass, const Stream<kBetween, const T>& x, const Stream<kBetween, T>& y) const {
    Stream<kParts, const T> in;
    Stream<kParts, T> out, to[static_cast<std::size_t>(kSites)];
    for (int i = 0; i < kParts; ++i) {
      in[i] = x[kPerBlock ? 0 : i];
      if (i < kBetween)
        out[i] = y[i];
      else if (Sites::writes(i))
        out[i] = p.keep<T>(pass.shape.rows(), width_);  // ends with the block
    }
    Sites::carve(p, pass.shape, width_, out, to);
    Tape t{sites_.plan(p, pass, in, to), {}};
    for (int i = 0; i < kBetween; ++i) t.y[i] = sites_.output(t.sites)[i];
    return t;
  }
  template <class Look = detail::LooksAtNothing>
  void forward(const T* weights, const Tape& t, const Look& before_join = {}) const {
    sites_.forward(weights, t.sites, before_join);
  }
  /// ds: gradient of the stream after the block, becomes that before it. With per_block(), part 0 comes and goes.
  void backward(const T* weights, const Stream<kParts, T>& ds, T* gradients, const Tape& t) const {
    if constexpr (kPerBlock)
      for (int i = 1; i < kParts; ++i) kernels::fill(ds[i], T(0));
    sites_.backward(weights, ds, gradients, t.sites);
    if constexpr (kPerBlock) join_parts(ds);
  }

 private:
  Sites sites_;
  Index width_;
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
