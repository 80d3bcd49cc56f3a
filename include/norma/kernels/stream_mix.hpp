// SPDX-License-Identifier: MIT
// Mixing the N parts of a stream (Parts in the code) row by row, with coefficients that are the same for all rows
// (stride 0) or a row's own:
//
//   read:    y = sum_p m_p s_p                               m: [rows, N]
//            dm_p = s_p . dy,  ds_p += m_p dy
//   write:   to_q = sum_p a_pq s_p + b_q w                   c: [rows, N (N + 1)], row p of it a_p0 ... a_p(N-1), b_p
//            da_pq = s_p . d_q,  db_q = w . d_q,  dw = sum_q b_q d_q,  ds_p = sum_q a_pq d_q        d: the gradient of
//            to
#pragma once

#include <norma/core/executor.hpp>
#include <norma/core/view.hpp>
#include <norma/kernels/row_statistics.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// The inner product of two rows, in double.
template <class T>
double row_dot(const T* a, const T* b, Index n) noexcept {
  return detail::row_sums<T, 1>(n, [&](Index i, Index k, simd::Pack<T>* lane) NORMA_INLINE_LAMBDA {
    lane[0] = simd::fma(simd::load_up_to(a + i, k), simd::load_up_to(b + i, k), lane[0]);
  })[0];
}

template <class T, std::size_t Parts>
void mix_read(const Executor& executor, MatrixView<const T> m, const std::array<MatrixView<const T>, Parts>& s,
              MatrixView<T> y) noexcept {
  executor.split(y.rows, 1, [&](Index, Index begin, Index end) {
    for (Index r = begin; r < end; ++r)
      simd::for_each_pack<T>(y.columns, [&](Index i, Index k) NORMA_INLINE_LAMBDA {
        auto sum = simd::zero<T>();
        for (std::size_t p = 0; p < Parts; ++p)
          sum = simd::fma(simd::broadcast(m.row(r)[p]), simd::load_up_to(s[p].row(r) + i, k), sum);
        simd::store_up_to(y.row(r) + i, sum, k);
      });
  });
}
/// ds: added to. dm: assigned.
template <class T, std::size_t Parts>
void mix_read_backward(const Executor& executor, MatrixView<const T> m, const std::array<MatrixView<const T>, Parts>& s,
                       MatrixView<const T> dy, const std::array<MatrixView<T>, Parts>& ds, MatrixView<T> dm) noexcept {
  executor.split(dy.rows, 1, [&](Index, Index begin, Index end) {
    for (Index r = begin; r < end; ++r)
      for (std::size_t p = 0; p < Parts; ++p) {
        dm.row(r)[p] = static_cast<T>(row_dot(s[p].row(r), dy.row(r), dy.columns));
        T* const d = ds[p].row(r);
        const auto factor = simd::broadcast(m.row(r)[p]);
        simd::for_each_pack<T>(dy.columns, [&](Index i, Index k) NORMA_INLINE_LAMBDA {
          simd::store_up_to(d + i, simd::fma(factor, simd::load_up_to(dy.row(r) + i, k), simd::load_up_to(d + i, k)),
                            k);
        });
      }
  });
}

template <class T, std::size_t Parts>
void mix_write(const Executor& executor, MatrixView<const T> c, const std::array<MatrixView<const T>, Parts>& s,
               MatrixView<const T> w, const std::array<MatrixView<T>, Parts>& to) noexcept {
  executor.split(w.rows, 1, [&](Index, Index begin, Index end) {
    for (Index r = begin; r < end; ++r)
      simd::for_each_pack<T>(w.columns, [&](Index i, Index k) NORMA_INLINE_LAMBDA {
        for (std::size_t q = 0; q < Parts; ++q) {
          auto sum = simd::broadcast(c.row(r)[q * (Parts + 1) + Parts]) * simd::load_up_to(w.row(r) + i, k);
          for (std::size_t p = 0; p < Parts; ++p)
            sum = simd::fma(simd::broadcast(c.row(r)[p * (Parts + 1) + q]), simd::load_up_to(s[p].row(r) + i, k), sum);
          simd::store_up_to(to[q].row(r) + i, sum, k);
        }
      });
  });
}
/// ds: the gradient of what was written, becomes that of s. dw, dc: assigned.
template <class T, std::size_t Parts>
void mix_write_backward(const Executor& executor, MatrixView<const T> c,
                        const std::array<MatrixView<const T>, Parts>& s, MatrixView<const T> w,
                        const std::array<MatrixView<T>, Parts>& ds, MatrixView<T> dw, MatrixView<T> dc) noexcept {
  const Index n = w.columns;
  executor.split(w.rows, 1, [&](Index, Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      for (std::size_t q = 0; q < Parts; ++q) {
        for (std::size_t p = 0; p < Parts; ++p)
          dc.row(r)[p * (Parts + 1) + q] = static_cast<T>(row_dot<T>(s[p].row(r), ds[q].row(r), n));
        dc.row(r)[q * (Parts + 1) + Parts] = static_cast<T>(row_dot<T>(w.row(r), ds[q].row(r), n));
      }
      simd::for_each_pack<T>(n, [&](Index i, Index k) NORMA_INLINE_LAMBDA {
        simd::Pack<T> d[Parts], branch = simd::zero<T>();
        for (std::size_t q = 0; q < Parts; ++q) {
          d[q] = simd::load_up_to(ds[q].row(r) + i, k);
          branch = simd::fma(simd::broadcast(c.row(r)[q * (Parts + 1) + Parts]), d[q], branch);
        }
        simd::store_up_to(dw.row(r) + i, branch, k);
        for (std::size_t p = 0; p < Parts; ++p) {
          auto sum = simd::zero<T>();
          for (std::size_t q = 0; q < Parts; ++q)
            sum = simd::fma(simd::broadcast(c.row(r)[p * (Parts + 1) + q]), d[q], sum);
          simd::store_up_to(ds[p].row(r) + i, sum, k);
        }
      });
    }
  });
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
