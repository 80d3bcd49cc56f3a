// SPDX-License-Identifier: MIT
// A list of values filled by slot; and the slots inside a sublayer, which a policy fills and a sublayer takes.
#pragma once

#include <norma/config.hpp>

#include <type_traits>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// A slot and what fills it.
template <class S, class V>
struct Filled {
  using Slot = S;
  V value;
};

/// Values by slot. Presence is decided by type, never by whether an expression compiles: that would fail open.
template <class... F>
struct Entries : F... {
  template <class S>
  static constexpr bool has = (std::is_same_v<S, typename F::Slot> || ...);
  /// What fills slot S, or `otherwise`.
  template <class S, class D>
  auto get(D otherwise) const {
    if constexpr (has<S>)
      return pick<S>(*this);
    else
      return otherwise;
  }

 private:
  template <class S, class V>
  static V pick(const Filled<S, V>& filled) {
    return filled.value;
  }
};

namespace slot {

/// Slots inside a sublayer. It lists those that it takes; a filled one that it does not take is an error.
struct Inner {};

// Inside attention.
struct query : Inner {};
struct key : Inner {};
struct rotated_query : Inner {};
struct rotated_key : Inner {};
struct value : Inner {};
struct whole_query : Inner {};
struct whole_key : Inner {};
struct score_scale : Inner {};
struct head_scale : Inner {};
struct before_output : Inner {};
// Inside the feed-forward.
struct up : Inner {};
struct gate : Inner {};
struct before_activation : Inner {};
struct hidden : Inner {};
// Inside a sum of sublayers.
struct branch : Inner {};

}  // namespace slot

/// The slots that a sublayer takes.
template <class... S>
struct Takes {
  template <class Slot>
  static constexpr bool has = (std::is_same_v<S, Slot> || ...);
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
