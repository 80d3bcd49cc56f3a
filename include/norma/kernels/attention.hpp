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
// A masked key reaches nothing, NaN or not. A query that sees no key gives zeros, and zero gradients. Query heads share
// the key and value heads in groups of heads / kv_heads (Ainslie et al., arXiv 2305.13245): query head h reads kv head
// h * kv_heads / heads.
#pragma once

#include <norma/core/call.hpp>
#include <norma/core/executor.hpp>
#include <norma/kernels/dropout.hpp>
#include <norma/kernels/elementwise.hpp>
#include <norma/kernels/gemm_panels.hpp>
#include <norma/kernels/gemm_tile.hpp>
#include <norma/kernels/simd_math.hpp>

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
  MatrixView<T> packing{};        ///< attention_scratch elements for every worker
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

/// Elements of scratch that a worker needs: the keys of one block side by side and, for backward, its values.
template <class T>
Index attention_scratch(Index head_dim, bool training) {
  return (training ? 2 : 1) * head_dim * detail::kTileColumns<T>;
}

namespace detail {

// Keys are seen a panel at a time: a bit each in a word. Blocks begin at multiples of it, so that what a query sees is
// summed in one order whichever queries stand beside it. Queries are taken together so that a panel serves many.
template <class T>
inline constexpr Index kKeyBlock = kTileColumns<T>;
inline constexpr Index kQueryBlock = 64;
using KeyBits = std::uint64_t;
static_assert(kKeyBlock<float> <= 64);

inline KeyBits first_bits(Index count) { return count >= 64 ? ~KeyBits(0) : (KeyBits(1) << count) - 1; }

/// Which of the keys [first, first + count) a query sees. The only place that knows about masks.
template <class T>
KeyBits seen_keys(const AttentionProblem<T>& a, Index b, Index h, Index query, Index first, Index count) {
  const auto [begin, end] = a.visible(b, query);
  const Index from = std::clamp<Index>(begin - first, 0, count), to = std::clamp<Index>(end - first, from, count);
  KeyBits bits = first_bits(to) & ~first_bits(from);
  const auto drop_unless = [&](auto&& keeps) {
    for (Index j = from; j < to; ++j)
      if (!keeps(first + j)) bits &= ~(KeyBits(1) << j);
  };
  if (a.keep.data != nullptr) {
    const bool* keep = a.keep.row(b, h, query);
    drop_unless([&](Index j) { return keep[j]; });
  }
  if (a.bias.data != nullptr) {
    const T* bias = a.bias.row(b, h, query);
    drop_unless([&](Index j) { return !simd::is_minus_infinity(bias[j]); });
  }
  return bits;
}

/// The same of a block of queries: those before `begin` and from `end` on see none.
struct Seen {
  KeyBits keys[kQueryBlock];
  Index begin = 0, end = 0;
  Index rows() const { return end - begin; }
};
template <class T>
Seen seen_by_block(const AttentionProblem<T>& a, Index b, Index h, Index query, Index queries, Index first,
                   Index count) {
  Seen seen;
  for (Index i = 0; i < queries; ++i) {
    seen.keys[i] = seen_keys(a, b, h, query + i, first, count);
    if (seen.keys[i] == 0) continue;
    if (seen.end == 0) seen.begin = i;
    seen.end = i + 1;
  }
  return seen;
}

/// Products of a query with the block of keys [first, first + count) become scores. With a cap, tanh_s holds the
/// hyperbolic tangents that they were capped by.
template <class T>
void to_scores(const AttentionProblem<T>& a, Index b, Index h, Index query, Index first, Index count, T* s, T* tanh_s) {
  const Index width = round_up(count, simd::kLanes<T>);
  const T* bias = a.bias.data != nullptr ? a.bias.row(b, h, query) + first : nullptr;
  const T* distances = a.distances(h, query);
  if (distances != nullptr) distances += first;
  const simd::Pack<T> scale = simd::broadcast(static_cast<T>(a.scale)), cap = simd::broadcast(a.cap);
  for (Index i = 0; i < width; i += simd::kLanes<T>) {
    const Index k = (std::min)(count - i, simd::kLanes<T>);
    simd::Pack<T> v = scale * simd::load(s + i);
    if (a.cap > 0) {
      const simd::Pack<T> bent = simd::tanh(v / cap);
      simd::store(tanh_s + i, bent);
      v = cap * bent;
    }
    if (bias != nullptr) v = v + simd::load_up_to(bias + i, k);
    if (distances != nullptr) v = v + simd::load_up_to(distances + i, k);
    simd::store(s + i, v);
  }
}

/// Sets what is not seen to a value, among the first `width`: whole packs.
template <class T>
NORMA_INLINE void hide(KeyBits seen, Index width, T* s, T value) {
  if (seen == first_bits(width)) return;
  for (Index j = 0; j < width; j += simd::kLanes<T>)
    simd::store(s + j, simd::choose(seen >> j, simd::load(s + j), value));
}
/// f(j) for every key that is seen, in order.
template <class F>
NORMA_INLINE void for_each_seen(KeyBits seen, const F& f) {
  for (; seen != 0; seen &= seen - 1) f(static_cast<Index>(std::countr_zero(seen)));
}

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

/// The keys that some query of [first, first + count) may see lie in [first, last).
template <class T>
typename AttentionProblem<T>::Keys visible_to_any(const AttentionProblem<T>& a, Index b, Index first, Index count) {
  typename AttentionProblem<T>::Keys all{a.keys, 0};
  for (Index i = first; i < first + count; ++i) {
    const auto [begin, end] = a.visible(b, i);
    if (begin >= end) continue;
    all.first = (std::min)(all.first, begin);
    all.last = (std::max)(all.last, end);
  }
  return all;
}

/// The largest of a block, whole packs of it; NaN or not where there is one.
template <class T>
T block_maximum(const T* s, Index width) {
  simd::Pack<T> m = simd::load(s);
  for (Index j = simd::kLanes<T>; j < width; j += simd::kLanes<T>) m = simd::maximum(m, simd::load(s + j));
  return simd::reduce_maximum(m);
}
/// A block's s becomes exp(s - shift); returns the sum.
template <class T>
double block_exponentials(T* s, Index width, T shift) {
  simd::WideSum<T> sum;
  const simd::Pack<T> by = simd::broadcast(shift);
  for (Index j = 0; j < width; j += simd::kLanes<T>) {
    const simd::Pack<T> p = simd::exp(simd::load(s + j) - by);
    simd::store(s + j, p);
    sum.add(p);
  }
  return sum.total();
}

/// Whether zero times any element is zero.
template <class T>
bool all_finite(MatrixView<const T> m) {
  simd::Finite<T> finite;
  for (Index r = 0; r < m.rows; ++r)
    simd::for_each_pack<T>(
        m.columns, [&](Index i, Index k) NORMA_INLINE_LAMBDA { finite.look_at(simd::load_up_to(m.row(r) + i, k)); });
  return finite.all();
}

}  // namespace detail

/// o and log_sums from q, k, v. log_sums: one value per query and head, [batch x queries, heads], for backward; or no
/// memory.
template <class T>
void attention_forward(const AttentionProblem<T>& a, MatrixView<const T> q, MatrixView<const T> k,
                       MatrixView<const T> v, MatrixView<T> o, MatrixView<T> log_sums) noexcept {
  using namespace detail;
  constexpr Index kKeys = kKeyBlock<T>;
  const Index n = a.head_dim;
  a.executor.split(a.batch * a.heads, 1, [&](Index worker, Index begin, Index end) {
    T* const key_panel = a.packing.row(worker);
    for (Index bh = begin; bh < end; ++bh) {
      const Index b = bh / a.heads, h = bh % a.heads, kv = h * a.kv_heads / a.heads * n;
      const MatrixView<const T> keys = k.middle_rows(b * a.keys, a.keys).middle_columns(kv, n),
                                values = v.middle_rows(b * a.keys, a.keys).middle_columns(kv, n);
      const bool finite = all_finite(values);
      for (Index i0 = 0; i0 < a.queries; i0 += kQueryBlock) {
        const Index queries = (std::min)(kQueryBlock, a.queries - i0), row0 = b * a.queries + i0;
        const MatrixView<const T> block_q = q.middle_rows(row0, queries).middle_columns(h * n, n);
        const MatrixView<T> out = o.middle_rows(row0, queries).middle_columns(h * n, n);
        T maximum[kQueryBlock];
        double sum[kQueryBlock];
        bool any[kQueryBlock];
        std::fill_n(sum, queries, 0.0);
        std::fill_n(any, queries, false);
        fill(out, T(0));
        const auto [first_key, last_key] = visible_to_any(a, b, i0, queries);
        for (Index j0 = first_key / kKeys * kKeys; j0 < last_key; j0 += kKeys) {
          const Index count = (std::min)(kKeys, a.keys - j0), width = round_up(count, simd::kLanes<T>);
          const Seen seen = seen_by_block(a, b, h, i0, queries, j0, count);
          if (seen.rows() == 0) continue;
          pack_panels<T, kKeys>(keys.row(j0), keys.stride, 1, count, n, key_panel);
          alignas(kAlignment) T s[kQueryBlock * kKeys];
          const MatrixView<T> scores(s + seen.begin * kKeys, seen.rows(), width, kKeys);
          small_product<T>({block_q.row(seen.begin), block_q.stride, 1}, {key_panel, 0, kKeys}, n, scores, {});
          for (Index i = seen.begin; i < seen.end; ++i) {
            T *const row = s + i * kKeys, tanh_s[kKeys];
            if (seen.keys[i] == 0) {
              std::fill_n(row, width, T(0));
              continue;
            }
            to_scores(a, b, h, i0 + i, j0, count, row, tanh_s);
            hide(seen.keys[i], width, row, -std::numeric_limits<T>::infinity());
            const T highest = block_maximum(row, width);
            double rescale = 1;
            if (!any[i]) {
              maximum[i] = highest;
              any[i] = true;
            } else if (!(highest <= maximum[i])) {  // also when NaN: it must come through
              const T shrink = std::exp(maximum[i] - highest);
              for (Index c = 0; c < n; ++c) out.row(i)[c] *= shrink;
              rescale = static_cast<double>(shrink);
              maximum[i] = highest;
            }
            sum[i] = simd::fma(sum[i], rescale, block_exponentials(row, width, maximum[i]));
            hide(seen.keys[i], width, row, T(0));  // NaN, where the maximum is
            if (a.dropout.acts())
              for_each_seen(seen.keys[i],
                            [&](Index j) { row[j] *= static_cast<T>(a.dropout_factor(b, h, i0 + i, j0 + j)); });
          }
          if (finite)
            small_product<T>({scores.data, kKeys, 1}, {values.row(j0), 0, values.stride}, count,
                             out.middle_rows(seen.begin, seen.rows()), {out.row(seen.begin), out.stride});
          else
            for (Index i = seen.begin; i < seen.end; ++i)
              for_each_seen(seen.keys[i],
                            [&](Index j) { accumulate(s[i * kKeys + j], values.row(j0 + j), out.row(i), n); });
        }
        // A query that sees no key stays zero; backward finds that out again from the masks.
        for (Index i = 0; i < queries; ++i) {
          if (log_sums.data != nullptr)
            log_sums.row(row0 + i)[h] = any[i] ? maximum[i] + static_cast<T>(std::log(sum[i])) : T(0);
          if (any[i])
            scale(MatrixView<const T>(out.middle_rows(i, 1)), static_cast<T>(1 / sum[i]), out.middle_rows(i, 1));
        }
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
  constexpr Index kKeys = kKeyBlock<T>;
  const Index n = a.head_dim, group = a.heads / a.kv_heads;
  const bool capped = a.cap > 0;
  a.executor.split(a.batch * a.kv_heads, 1, [&](Index worker, Index begin, Index end) {
    T *const key_panel = a.packing.row(worker), *const value_panel = key_panel + n * kKeys;
    for (Index bg = begin; bg < end; ++bg) {
      const Index b = bg / a.kv_heads, g = bg % a.kv_heads, kv = g * n;
      const auto of_keys = [&](auto m) { return m.middle_rows(b * a.keys, a.keys).middle_columns(kv, n); };
      const MatrixView<const T> keys = of_keys(k), values = of_keys(v);
      const MatrixView<T> d_keys = of_keys(dk), d_values = of_keys(dv);
      fill(d_keys, T(0));
      fill(d_values, T(0));
      const bool finite = all_finite(keys) && all_finite(values);
      for (Index h = g * group; h < (g + 1) * group; ++h) {
        T* const d_distances = d_distance_bias.data != nullptr ? d_distance_bias.row(b * a.heads + h) : nullptr;
        if (d_distances != nullptr) std::fill_n(d_distances, d_distance_bias.columns, T(0));
        for (Index i0 = 0; i0 < a.queries; i0 += kQueryBlock) {
          const Index queries = (std::min)(kQueryBlock, a.queries - i0), row0 = b * a.queries + i0;
          const auto of_block = [&](auto m) { return m.middle_rows(row0, queries).middle_columns(h * n, n); };
          const MatrixView<const T> block_q = of_block(q), d_out = of_block(d_o);
          const MatrixView<T> d_query = of_block(dq);
          const bool block_finite = finite && all_finite(block_q) && all_finite(d_out);
          fill(d_query, T(0));
          T inner[kQueryBlock];
          for (Index i = 0; i < queries; ++i) inner[i] = dot(d_out.row(i), of_block(o).row(i), n);
          const auto [first_key, last_key] = visible_to_any(a, b, i0, queries);
          for (Index j0 = first_key / kKeys * kKeys; j0 < last_key; j0 += kKeys) {
            const Index count = (std::min)(kKeys, a.keys - j0), width = round_up(count, simd::kLanes<T>);
            const Seen seen = seen_by_block(a, b, h, i0, queries, j0, count);
            if (seen.rows() == 0) continue;
            pack_panels<T, kKeys>(keys.row(j0), keys.stride, 1, count, n, key_panel);
            pack_panels<T, kKeys>(values.row(j0), values.stride, 1, count, n, value_panel);
            alignas(kAlignment) T p[kQueryBlock * kKeys], ds[kQueryBlock * kKeys];  // weights; of the scores
            const Index begin_row = seen.begin, rows = seen.rows();
            T *const first_p = p + begin_row * kKeys, *const first_ds = ds + begin_row * kKeys;
            small_product<T>({block_q.row(begin_row), block_q.stride, 1}, {key_panel, 0, kKeys}, n,
                             {first_p, rows, width, kKeys}, {});
            small_product<T>({d_out.row(begin_row), d_out.stride, 1}, {value_panel, 0, kKeys}, n,
                             {first_ds, rows, width, kKeys}, {});
            for (Index i = begin_row; i < seen.end; ++i) {
              T *const weight = p + i * kKeys, *const d = ds + i * kKeys, tanh_s[kKeys];
              if (seen.keys[i] == 0) {
                std::fill_n(weight, width, T(0));
                std::fill_n(d, width, T(0));
                continue;
              }
              to_scores(a, b, h, i0 + i, j0, count, weight, tanh_s);
              hide(seen.keys[i], width, weight, -std::numeric_limits<T>::infinity());
              block_exponentials(weight, width, log_sums.row(row0 + i)[h]);
              hide(seen.keys[i], width, weight, T(0));
              T m[kKeys];
              const bool drops = a.dropout.acts();
              if (drops) {
                std::fill_n(m, width, T(0));
                for_each_seen(seen.keys[i],
                              [&](Index j) { m[j] = static_cast<T>(a.dropout_factor(b, h, i0 + i, j0 + j)); });
              }
              const simd::Pack<T> mean = simd::broadcast(inner[i]), scale = simd::broadcast(static_cast<T>(a.scale)),
                                  one = simd::broadcast(T(1));
              for (Index j = 0; j < width; j += simd::kLanes<T>) {
                simd::Pack<T> w = simd::load(weight + j), dp = simd::load(d + j);
                if (drops) dp = simd::load(m + j) * dp;
                simd::Pack<T> score = w * (dp - mean);
                simd::store(d + j, score);
                if (drops) simd::store(weight + j, simd::load(m + j) * w);
              }
              if (d_distances != nullptr)
                for_each_seen(seen.keys[i], [&](Index j) { d_distances[j0 + j - i0 - i + a.queries] += d[j]; });
              for (Index j = 0; j < width; j += simd::kLanes<T>) {
                simd::Pack<T> score = scale * simd::load(d + j);
                if (capped) {
                  const simd::Pack<T> bent = simd::load(tanh_s + j);
                  score = score * (one - bent) * (one + bent);
                }
                simd::store(d + j, score);
              }
              hide(seen.keys[i], width, d, T(0));
            }
            const MatrixView<T> d_block_keys = d_keys.middle_rows(j0, count),
                                d_block_values = d_values.middle_rows(j0, count);
            if (block_finite) {
              const MatrixView<T> d_rows = d_query.middle_rows(begin_row, rows);
              small_product<T>({first_ds, kKeys, 1}, {keys.row(j0), 0, keys.stride}, count, d_rows,
                               {d_rows.data, d_rows.stride});
              small_product<T>({first_p, 1, kKeys}, {d_out.row(begin_row), 0, d_out.stride}, rows, d_block_values,
                               {d_block_values.data, d_block_values.stride});
              small_product<T>({first_ds, 1, kKeys}, {block_q.row(begin_row), 0, block_q.stride}, rows, d_block_keys,
                               {d_block_keys.data, d_block_keys.stride});
            } else {
              for (Index i = begin_row; i < seen.end; ++i)
                for_each_seen(seen.keys[i], [&](Index j) {
                  accumulate(ds[i * kKeys + j], keys.row(j0 + j), d_query.row(i), n);
                  accumulate(p[i * kKeys + j], d_out.row(i), d_block_values.row(j), n);
                  accumulate(ds[i * kKeys + j], block_q.row(i), d_block_keys.row(j), n);
                });
            }
          }
        }
      }
    }
  });
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
