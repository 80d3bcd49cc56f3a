// SPDX-License-Identifier: MIT
// Attention (Vaswani et al., arXiv 1706.03762, equation 1), streamed over keys: the tokens x tokens matrix never exists.
// Forward keeps a running maximum and sum (Milakov and Gimelshein, arXiv 1805.02867) and one log-sum-exp per row; backward
// recomputes the weights from it (Dao et al., arXiv 2205.14135, algorithm 4).
//
//   s_j = scale q . k_j,   p_j = exp(s_j - lse),   o = sum_j p_j v_j
//   dv_j += p_j do,   ds_j = p_j (do . v_j - do . o),   dq = scale sum_j ds_j k_j,   dk_j += scale ds_j q
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include <norma/core/view.hpp>
#include <norma/kernels/simd.hpp>
#include <norma/kernels/softmax.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// queries and keys are tokens per sequence; matrices are [batch x tokens, heads x head_dim].
struct AttentionShape {
  Index batch, queries, keys, heads, head_dim;
  double scale;  ///< of the scores
  bool causal;   ///< the last query sees every key (bottom-right)

  /// How many keys, from the first on, this query may see.
  Index visible(Index query) const { return causal ? std::clamp<Index>(query + 1 + keys - queries, 0, keys) : keys; }
};

namespace detail {

template <class T>
NORMA_INLINE T dot(const T* a, const T* b, Index n) {
  simd::Pack<T> sum = simd::zero<T>();
  simd::for_each_pack<T>(n, [&](Index i, Index k) NORMA_INLINE_LAMBDA {
    sum = simd::fma(simd::load_up_to(a + i, k), simd::load_up_to(b + i, k), sum);
  });
  return simd::reduce_add(sum);
}
/// y += s x
template <class T>
NORMA_INLINE void accumulate(T s, const T* x, T* y, Index n) {
  const auto factor = simd::broadcast(s);
  simd::for_each_pack<T>(n, [&](Index i, Index k) NORMA_INLINE_LAMBDA {
    simd::store_up_to(y + i, simd::fma(factor, simd::load_up_to(x + i, k), simd::load_up_to(y + i, k)), k);
  });
}

inline constexpr Index kKeyBlock = 64;  // scores held at a time; on the stack, and a loop long enough to pipeline

/// One query against its keys, first to last. Keys and values are `stride` apart. Returns the log-sum-exp.
template <class T>
T attend(const T* q, const T* k, const T* v, Index key_stride, Index value_stride, Index keys, Index n, T scale, T* o) {
  T maximum = -std::numeric_limits<T>::infinity(), s[kKeyBlock];
  double sum = 0;
  std::fill_n(o, n, T(0));
  for (Index j0 = 0; j0 < keys; j0 += kKeyBlock) {
    const Index count = std::min(kKeyBlock, keys - j0);
    for (Index j = 0; j < count; ++j) s[j] = scale * dot(q, k + (j0 + j) * key_stride, n);
    const T highest = row_maximum(s, count);
    if (!(highest <= maximum)) {  // also when NaN: it must come through
      const T shrink = std::exp(maximum - highest);  // zero the first time
      for (Index i = 0; i < n; ++i) o[i] *= shrink;
      sum *= static_cast<double>(shrink);
      maximum = highest;
    }
    if (maximum == -std::numeric_limits<T>::infinity()) continue;
    sum += exponentials(s, count, maximum);
    for (Index j = 0; j < count; ++j) accumulate(s[j], v + (j0 + j) * value_stride, o, n);
  }
  if (sum == 0) return -std::numeric_limits<T>::infinity();  // no key to see: zeros
  const T normalize = static_cast<T>(1 / sum);
  for (Index i = 0; i < n; ++i) o[i] *= normalize;
  return maximum + static_cast<T>(std::log(sum));
}

}  // namespace detail

/// o and lse from q, k, v. lse: one value per query and head, [batch x queries, heads].
template <class T>
void attention_forward(const AttentionShape& a, MatrixView<const T> q, MatrixView<const T> k, MatrixView<const T> v,
                       MatrixView<T> o, MatrixView<T> lse) noexcept {
  for (Index b = 0; b < a.batch; ++b)
    for (Index h = 0; h < a.heads; ++h)
      for (Index i = 0; i < a.queries; ++i) {
        const Index row = b * a.queries + i, at = h * a.head_dim;
        lse.row(row)[h] = detail::attend(q.row(row) + at, k.row(b * a.keys) + at, v.row(b * a.keys) + at, k.stride, v.stride,
                                         a.visible(i), a.head_dim, static_cast<T>(a.scale), o.row(row) + at);
      }
}

/// dq, dk, dv (assigned) from d_o and what forward kept. None of the outputs overlaps an input.
template <class T>
void attention_backward(const AttentionShape& a, MatrixView<const T> q, MatrixView<const T> k, MatrixView<const T> v,
                        MatrixView<const T> o, MatrixView<const T> lse, MatrixView<const T> d_o, MatrixView<T> dq,
                        MatrixView<T> dk, MatrixView<T> dv) noexcept {
  const Index n = a.head_dim;
  const T scale = static_cast<T>(a.scale);
  for (Index b = 0; b < a.batch; ++b)
    for (Index h = 0; h < a.heads; ++h) {
      const Index at = h * n, first = b * a.keys;
      for (Index j = 0; j < a.keys; ++j) {
        std::fill_n(dk.row(first + j) + at, n, T(0));
        std::fill_n(dv.row(first + j) + at, n, T(0));
      }
      for (Index i = 0; i < a.queries; ++i) {
        const Index row = b * a.queries + i;
        const T *query = q.row(row) + at, *d_out = d_o.row(row) + at;
        T* d_query = dq.row(row) + at;
        std::fill_n(d_query, n, T(0));
        const T log_sum = lse.row(row)[h];
        if (log_sum == -std::numeric_limits<T>::infinity()) continue;
        const T inner = detail::dot(d_out, o.row(row) + at, n);
        for (Index j = 0; j < a.visible(i); ++j) {
          const T *key = k.row(first + j) + at, *value = v.row(first + j) + at;
          const T p = std::exp(scale * detail::dot(query, key, n) - log_sum);
          const T ds = scale * p * (detail::dot(d_out, value, n) - inner);
          detail::accumulate(p, d_out, dv.row(first + j) + at, n);
          detail::accumulate(ds, key, d_query, n);
          detail::accumulate(ds, query, dk.row(first + j) + at, n);
        }
      }
    }
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
