// SPDX-License-Identifier: MIT
// Attention (Vaswani et al., arXiv 1706.03762, equation 1), streamed over keys: the tokens x tokens matrix never
// exists. Forward keeps a running maximum and sum (Milakov and Gimelshein, arXiv 1805.02867) and one log-sum-exp per
// row; backward recomputes the weights from it (Dao et al., arXiv 2205.14135, algorithm 4).
//
//   s_j = scale q . k_j + bias_j,   p_j = exp(s_j - lse),   o = sum_j m_j p_j v_j      m: dropout's factor, else 1
//   dv_j += m_j p_j do,   ds_j = p_j (m_j do . v_j - do . o),   dq = scale sum_j ds_j k_j,   dk_j += scale ds_j q
//
// With a cap (Gemma 2, arXiv 2408.00118), cap t_j with t_j = tanh(scale q . k_j / cap) stands in place of scale q .
// k_j, and ds_j (1 - t_j^2) in place of ds_j in dq and dk.
//
// A masked key is never read. A query that sees no key gives zeros, and zero gradients. Query heads share the key and
// value heads in groups of heads / kv_heads (Ainslie et al., arXiv 2305.13245): query head h reads kv head h * kv_heads
// / heads.
#pragma once

#include <norma/core/call.hpp>
#include <norma/core/executor.hpp>
#include <norma/kernels/dropout.hpp>
#include <norma/kernels/simd_memory.hpp>
#include <norma/kernels/softmax.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// queries and keys are tokens per sequence. q, o: [batch x queries, heads x head_dim]; k, v: [batch x keys, kv_heads x
/// head_dim].
template <class T>
struct AttentionProblem {
  Index batch, queries, keys, heads, kv_heads, head_dim;
  double scale;  ///< of the scores
  bool causal = false;
  Align align = Align::bottom_right;
  const Index* key_lengths = nullptr;  ///< [batch], or null
  AttentionMap<bool> keep{};
  AttentionMap<T> bias{};
  Dropout dropout{};
  Executor executor{};
  const Index* prefix = nullptr;  ///< [batch] keys that every query sees although it is causal, or null
  Index window = 0;               ///< keys less than this away, or 0
  T cap = T(0);                   ///< of the scaled scores, or 0
  /// Biases by head and distance, [heads, queries + keys], column key - query + queries; or empty.
  MatrixView<const T> distance_bias{};

  struct Keys {
    Index first, last;
  };
  /// The keys [first, last) that this query may see by place and length; none if first >= last.
  Keys visible(Index b, Index query) const {
    const Index own = align == Align::bottom_right ? query + keys - queries : query;
    Keys seen{0, keys};
    if (causal) seen.last = std::clamp<Index>(own + 1, prefix != nullptr ? prefix[b] : 0, keys);
    if (window > 0) {
      if (own >= window) seen.first = own - window + 1;
      if (keys - own > window) seen.last = (std::min)(seen.last, own + window);
    }
    if (key_lengths != nullptr) seen.last = (std::min)(seen.last, key_lengths[b]);
    return seen;
  }
  /// Of this query and head, by key.
  const T* distances(Index h, Index query) const {
    return distance_bias.data != nullptr ? distance_bias.row(h) + queries - query : nullptr;
  }
  double dropout_factor(Index b, Index h, Index query, Index key) const {
    return dropout.factor(((b * heads + h) * queries + query) * keys + key);
  }
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

inline constexpr Index kKeyBlock = 64;  // scores held at a time: a bit each in a word says which keys are seen

/// One query and head: the scores against keys [first, first + count) that it may see, packed together at the front of
/// s, with their places in `at`. Returns how many. The only place that knows about masks. With a cap, tanh_s holds the
/// hyperbolic tangents that the scores were capped by.
template <class T>
NORMA_INLINE Index scores(const AttentionProblem<T>& a, Index b, Index h, Index query, const T* q, const T* keys,
                          Index key_stride, Index first, Index count, T* s, Index* at, T* tanh_s) {
  const bool* keep = a.keep.data != nullptr ? a.keep.row(b, h, query) : nullptr;
  const T* bias = a.bias.data != nullptr ? a.bias.row(b, h, query) : nullptr;
  Index seen = 0;
  for (Index j = first; j < first + count; ++j) {
    if (keep != nullptr && !keep[j]) continue;
    if (bias != nullptr && simd::is_minus_infinity(bias[j])) continue;
    s[seen] = dot(q, keys + j * key_stride, a.head_dim);
    at[seen++] = j;
  }
  T factor = static_cast<T>(a.scale);
  if (a.cap > 0) {
    for (Index i = 0; i < seen; ++i) tanh_s[i] = s[i] = std::tanh(factor * s[i] / a.cap);
    factor = a.cap;
  }
  const T* distances = a.distances(h, query);
  if (bias == nullptr && distances == nullptr) {
    for (Index i = 0; i < seen; ++i) s[i] *= factor;
    return seen;
  }
  for (Index i = 0; i < seen; ++i) {
    const T added = (bias != nullptr ? bias[at[i]] : T(0)) + (distances != nullptr ? distances[at[i]] : T(0));
    s[i] = simd::fma(factor, s[i], added);
  }
  return seen;
}

}  // namespace detail

/// o and log_sums from q, k, v. log_sums: one value per query and head, [batch x queries, heads].
template <class T>
void attention_forward(const AttentionProblem<T>& a, MatrixView<const T> q, MatrixView<const T> k,
                       MatrixView<const T> v, MatrixView<T> o, MatrixView<T> log_sums) noexcept {
  using namespace detail;
  const Index n = a.head_dim;
  a.executor.split(a.batch * a.heads, 1, [&](Index, Index begin, Index end) {
    for (Index bh = begin; bh < end; ++bh) {
      const Index b = bh / a.heads, h = bh % a.heads;
      const Index kv = h * a.kv_heads / a.heads * n;
      const T *keys = k.row(b * a.keys) + kv, *values = v.row(b * a.keys) + kv;
      for (Index i = 0; i < a.queries; ++i) {
        const Index row = b * a.queries + i;
        const T* query = q.row(row) + h * n;
        T* out = o.row(row) + h * n;
        T s[kKeyBlock], tanh_s[kKeyBlock], maximum = T(0);
        Index at[kKeyBlock];
        double sum = 0;
        bool any = false;
        std::fill_n(out, n, T(0));
        const auto [begin_key, end_key] = a.visible(b, i);
        for (Index first = begin_key; first < end_key; first += kKeyBlock) {
          const Index seen =
              scores(a, b, h, i, query, keys, k.stride, first, (std::min)(kKeyBlock, end_key - first), s, at, tanh_s);
          if (seen == 0) continue;
          const T highest = row_maximum(s, seen);
          double rescale = 1;
          if (!any) {
            maximum = highest;
            any = true;
          } else if (!(highest <= maximum)) {  // also when NaN: it must come through
            const T shrink = std::exp(maximum - highest);
            for (Index c = 0; c < n; ++c) out[c] *= shrink;
            rescale = static_cast<double>(shrink);
            maximum = highest;
          }
          sum = simd::fma(sum, rescale, exponentials(s, seen, maximum));
          for (Index j = 0; j < seen; ++j) {
            if (a.dropout.acts()) s[j] *= static_cast<T>(a.dropout_factor(b, h, i, at[j]));
            accumulate(s[j], values + at[j] * v.stride, out, n);
          }
        }
        // A query that sees no key stays zero; backward finds that out again from the masks.
        log_sums.row(row)[h] = any ? maximum + static_cast<T>(std::log(sum)) : T(0);
        const T normalize = any ? static_cast<T>(1 / sum) : T(0);
        if (any)
          for (Index c = 0; c < n; ++c) out[c] *= normalize;
      }
    }
  });
}

/// dq, dk, dv (assigned) from d_o and what forward kept; and d_distance_bias of every sequence, [batch x heads, queries
/// + keys], unless it is empty. None of the outputs overlaps an input.
template <class T>
void attention_backward(const AttentionProblem<T>& a, MatrixView<const T> q, MatrixView<const T> k,
                        MatrixView<const T> v, MatrixView<const T> o, MatrixView<const T> log_sums,
                        MatrixView<const T> d_o, MatrixView<T> dq, MatrixView<T> dk, MatrixView<T> dv,
                        MatrixView<T> d_distance_bias = {}) noexcept {
  using namespace detail;
  const Index n = a.head_dim;
  const T scale = static_cast<T>(a.scale);
  const bool capped = a.cap > 0;
  const Index group = a.heads / a.kv_heads;
  a.executor.split(a.batch * a.kv_heads, 1, [&](Index, Index begin, Index end) {
    for (Index bg = begin; bg < end; ++bg) {
      const Index b = bg / a.kv_heads, g = bg % a.kv_heads, kv = g * n, first_key = b * a.keys;
      for (Index j = first_key; j < first_key + a.keys; ++j) {
        std::fill_n(dk.row(j) + kv, n, T(0));
        std::fill_n(dv.row(j) + kv, n, T(0));
      }
      for (Index h = g * group; h < (g + 1) * group; ++h) {
        T* const d_distances = d_distance_bias.data != nullptr ? d_distance_bias.row(b * a.heads + h) : nullptr;
        if (d_distances != nullptr) std::fill_n(d_distances, d_distance_bias.columns, T(0));
        for (Index i = 0; i < a.queries; ++i) {
          const Index row = b * a.queries + i;
          const T *query = q.row(row) + h * n, *d_out = d_o.row(row) + h * n;
          T* d_query = dq.row(row) + h * n;
          std::fill_n(d_query, n, T(0));
          const T log_sum = log_sums.row(row)[h], inner = dot(d_out, o.row(row) + h * n, n);
          T s[kKeyBlock], tanh_s[kKeyBlock];
          Index at[kKeyBlock];
          const auto [begin_key, end_key] = a.visible(b, i);
          for (Index first = begin_key; first < end_key; first += kKeyBlock) {
            const Index seen = scores(a, b, h, i, query, k.row(first_key) + kv, k.stride, first,
                                      (std::min)(kKeyBlock, end_key - first), s, at, tanh_s);
            for (Index j = 0; j < seen; ++j) {
              const Index key_row = first_key + at[j];
              const T *key = k.row(key_row) + kv, *value = v.row(key_row) + kv;
              const T m = a.dropout.acts() ? static_cast<T>(a.dropout_factor(b, h, i, at[j])) : T(1);
              const T p = std::exp(s[j] - log_sum);
              const T dp = simd::fma(m, dot(d_out, value, n), -inner);
              T ds = scale * p * dp;
              if (capped) ds *= (1 - tanh_s[j]) * (1 + tanh_s[j]);
              if (d_distances != nullptr) {
                T& sum = d_distances[at[j] - i + a.queries];
                sum = simd::fma(p, dp, sum);
              }
              accumulate(m * p, d_out, dv.row(key_row) + kv, n);
              accumulate(ds, key, d_query, n);
              accumulate(ds, query, dk.row(key_row) + kv, n);
            }
          }
        }
      }
    }
  });
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
