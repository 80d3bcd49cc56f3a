// SPDX-License-Identifier: MIT
// Where a policy is asked for its slots: everything that it may look at.
#pragma once

#include <norma/core/module.hpp>

#include <string>

namespace norma::inline v0_1::inline NORMA_TARGET {

template <Role R>
struct RoleTag {
  static constexpr Role role = R;
};
inline constexpr RoleTag<Role::attention> attention{};
inline constexpr RoleTag<Role::cross_attention> cross_attention{};
inline constexpr RoleTag<Role::feed_forward> feed_forward{};
inline constexpr RoleTag<Role::parallel> parallel{};

/// The role is known at compile time, depth and site at run time. `norm` is the user's norm, to be copied into slots.
template <Role R, class NormType>
struct At {
  static constexpr Role role = R;
  using Norm = NormType;
  using Scalar = typename NormType::Scalar;

  Depth depth;
  int site = 0;  ///< index of this sublayer in its stack, from 0
  NormType norm;
  Dimensions dims{};  ///< the block's
  int sublayers = 2;  ///< in each block, counted as sites: a parallel block has one

  /// The same place for a placement with another norm.
  template <class Own>
  At<R, Own> with_norm(Own own) const {
    return {depth, site, own, dims, sublayers};
  }
  /// `module` at sites of this role, nothing at others.
  template <Role Q, class M>
  auto only(RoleTag<Q>, M module) const {
    if constexpr (Q == R)
      return module;
    else
      return None{};
  }
};

/// For policies whose constants differ by side. \throws Error for a side of an encoder-decoder without both depths.
inline void check_sides(const char* policy, const Depth& depth) {
  if (depth.side != Side::single && (depth.encoder_layers < 1 || depth.decoder_layers < 1))
    fail(std::string(policy) + ": a side of an encoder-decoder needs the layers of both, given " +
         std::to_string(depth.encoder_layers) + " and " + std::to_string(depth.decoder_layers));
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
