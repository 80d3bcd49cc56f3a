// SPDX-License-Identifier: MIT
// When an output goes past the caches.
#pragma once

#include <norma/core/view.hpp>
#include <norma/kernels/simd_memory.hpp>

#include <type_traits>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// Outputs of more bytes together bypass the caches: by the time someone reads the first rows again they would have
/// left any core's share of them. Below, the next kernel still finds them there.
inline constexpr Index kStreamBytes = Index(16) << 20;

template <class S, class... More>
bool exceeds_caches(MatrixView<S> y, More... more) {
  return (y.size() + ... + more.size()) * static_cast<Index>(sizeof(S)) > kStreamBytes;
}
/// Whether all rows begin equally far from an address that streams.
template <class S>
bool in_phase(MatrixView<S> y) {
  return y.stride % simd::kLanesOf<S> == 0;
}
/// Whether every row of b begins as far from one as that of a.
template <class S>
bool same_phase(MatrixView<S> a, MatrixView<S> b) {
  return (a.stride - b.stride) % simd::kLanesOf<S> == 0 &&
         simd::elements_to_stream(a.data) == simd::elements_to_stream(b.data);
}
/// loop(streams): where kApart, one loop for each answer, known at compile time; else one that asks at every store.
template <bool kApart, class F>
NORMA_INLINE void with_streams(bool streams, const F& loop) {
  if constexpr (!kApart)
    loop(streams);
  else if (streams)
    loop(std::true_type());
  else
    loop(std::false_type());
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
