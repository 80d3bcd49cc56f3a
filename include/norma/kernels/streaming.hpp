// SPDX-License-Identifier: MIT
// When an output goes past the caches.
#pragma once

#include <norma/core/view.hpp>
#include <norma/kernels/simd_memory.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// Outputs of more bytes bypass the caches: by the time someone reads the first rows again they would have left any
/// core's share of them. Below, the next kernel still finds them there.
inline constexpr Index kStreamBytes = Index(16) << 20;

template <class S>
bool exceeds_caches(MatrixView<S> y) {
  return y.size() * static_cast<Index>(sizeof(S)) > kStreamBytes;
}
/// k elements at `to`; with `streams`, full packs go to an address that simd::stream takes.
template <class S>
NORMA_INLINE void store_or_stream(S* to, simd::Pack<Compute<S>> a, Index k, bool streams) {
  if (streams && k == simd::kLanesOf<S>)
    simd::stream(to, a);
  else
    simd::store_up_to(to, a, k);
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
