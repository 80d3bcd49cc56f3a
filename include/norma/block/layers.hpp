// SPDX-License-Identifier: MIT
// Stacks of blocks of two kinds: some layers read a memory, the others do not.
#pragma once

#include <norma/block/body.hpp>

#include <optional>
#include <type_traits>

namespace norma::inline v0_1::inline NORMA_TARGET {

namespace detail {

/// Which layers a kind of block stands in, and the level of its names there, if any.
struct ReadingLayers {
  static constexpr const char* kLevel = "";
  static bool holds(const Dimensions& dims, int layer) { return (layer - 1) % dims.memory_every == 0; }
};
struct OtherLayers {
  static constexpr const char* kLevel = "";
  static bool holds(const Dimensions& dims, int layer) { return !ReadingLayers::holds(dims, layer); }
};
struct BeforeReadingLayers : ReadingLayers {
  static constexpr const char* kLevel = "before";
};
struct EveryLayer {
  static constexpr const char* kLevel = "";
  static bool holds(const Dimensions&, int) { return true; }
};

/// The body of a layer: that of `A` in the layers of `InA`, then that of `B` in those of `InB`; one of them in each.
/// The stack's policy and norm are B's, and what they say opens and closes it; A has its own policy as it is by
/// default.
template <class A, class InA, class B, class InB>
class TwoKinds {
 public:
  using Policy = typename B::Policy;
  using Norm = typename B::Norm;
  using T = typename B::T;
  using Ends = typename B::Ends;
  static constexpr int kParts = 1, kBetween = 1, kSites = B::kSites;
  static constexpr bool kPerBlock = false, kReads = A::kReads || B::kReads,
                        kCalibrates = A::kCalibrates || B::kCalibrates;
  static_assert(std::is_same_v<Norm, typename A::Norm>, "norma: blocks of one stack have one norm and one scalar type");
  static_assert(A::kParts == 1 && B::kParts == 1,
                "norma: blocks of two kinds share a stack where their streams are one matrix");
  static_assert(std::is_same_v<Policy, typename A::Policy> || !A::Ends::template has<slot::after_step>,
                "norma: the hook after a step is asked of the stack's policy alone, which is the second block's");

  struct Tape {
    typename A::Tape a;
    typename B::Tape b;
    Stream<1, const T> y;  ///< the stream after the layer
  };

  TwoKinds(const Policy& policy, const Norm& norm, const Dimensions& dims, Depth depth, Layout& layout) {
    if (dims.memory_every < 1) fail("memory_every is " + std::to_string(dims.memory_every) + ", wanted at least 1");
    if (InA::holds(dims, depth.layer)) emplace<InA>(a_, policy_of<A>(policy), norm, dims, depth, layout);
    if (InB::holds(dims, depth.layer)) emplace<InB>(b_, policy, norm, dims, depth, layout);
  }

  Stream<1, T> carve(Plan& p, Shape shape, int first) const {
    return b_ ? b_->carve(p, shape, first) : a_->carve(p, shape, first);
  }
  Tape plan(Plan& p, const Pass& pass, const Stream<1, const T>& x, const Stream<1, T>& y) const {
    Tape t{};
    t.y = x;
    if (a_) {
      const Stream<1, T> between = b_ ? a_->carve(p, pass.shape, 0) : y;
      t.a = p.child(*a_, pass, t.y, between);
      t.y = t.a.y;
    }
    if (b_) {
      t.b = p.child(*b_, pass, t.y, y);
      t.y = t.b.y;
    }
    return t;
  }
  template <class Look = LooksAtNothing>
  void forward(const T* weights, const Tape& t, const Look& before_join = {}) const {
    if (a_) a_->forward(weights, t.a, before_join);
    if (b_) b_->forward(weights, t.b, before_join);
  }
  void backward(const T* weights, const Stream<1, T>& ds, T* gradients, const Tape& t) const {
    if (b_) b_->backward(weights, ds, gradients, t.b);
    if (a_) a_->backward(weights, ds, gradients, t.a);
  }

 private:
  template <class Body>
  static auto policy_of(const Policy& policy) {
    if constexpr (std::is_same_v<typename Body::Policy, Policy>)
      return policy;
    else
      return typename Body::Policy{};
  }
  template <class In, class Body, class P>
  static void emplace(std::optional<Body>& body, const P& policy, const Norm& norm, const Dimensions& dims, Depth depth,
                      Layout& layout) {
    std::optional<Layout::Level> level;
    if (In::kLevel[0] != '\0') level.emplace(layout, In::kLevel);
    layout.begin_part();
    body.emplace(policy, norm, dims, depth, layout);
  }

  std::optional<A> a_;
  std::optional<B> b_;
};

}  // namespace detail

/// Layers of which every dims.memory_every-th, from the first on, is a `Reading` block, and the others `Other` blocks:
///
///   Encoder<Alternating<DecoderBlock<PostLN>, Block<PostLN>>>     BLIP-2's Q-Former, with .memory_every = 2
///
/// Both have one norm; the policy given to a stack is Other's, and Reading's where it is the same.
template <class Reading, class Other>
struct Alternating {
  using BodyType = detail::TwoKinds<typename Reading::BodyType, detail::ReadingLayers, typename Other::BodyType,
                                    detail::OtherLayers>;
};

/// Layers of `Host`, with a `Reading` block before every dims.memory_every-th of them, from the first on. Its names
/// stand in the level `before`.
///
///   LanguageModel<Before<CrossAttentionBlock<GatedCrossAttention>, Block<PreLN>>>    Flamingo's language model
template <class Reading, class Host>
struct Before {
  using BodyType = detail::TwoKinds<typename Reading::BodyType, detail::BeforeReadingLayers, typename Host::BodyType,
                                    detail::EveryLayer>;
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
