// SPDX-License-Identifier: MIT
// Another library's matrix product in place of norma's own: any CBLAS (NORMA_BACKEND_BLAS) or oneDNN
// (NORMA_BACKEND_ONEDNN). docs/backends.md says what is lost with it.
#pragma once

#include <norma/core/buffer.hpp>
#include <norma/core/view.hpp>

#include <algorithm>
#include <limits>
#include <type_traits>

#if defined(NORMA_BACKEND_BLAS)
#include <cblas.h>
#elif defined(NORMA_BACKEND_ONEDNN)
#include <oneapi/dnnl/dnnl.h>
#endif

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

template <class T>
struct Operand;  // gemm.hpp

/// Whether products of T are norma's own, which alone promise that an element's bits depend on its row, its column and
/// k, and that nothing is allocated. oneDNN multiplies no doubles.
#if defined(NORMA_BACKEND_BLAS)
template <class T>
inline constexpr bool kOwnProduct = false;
#elif defined(NORMA_BACKEND_ONEDNN)
template <class T>
inline constexpr bool kOwnProduct = !std::is_same_v<T, float>;
#else
template <class T>
inline constexpr bool kOwnProduct = true;
#endif

namespace detail {

/// An operand as these libraries take it: rows that lie `stride` apart, read as they lie or transposed.
struct BackendOperand {
  bool transposed;
  Index stride;
  bool fits;  ///< whether they can read it, of rows that do not overlap
};
template <class T>
BackendOperand backend_operand(const Operand<T>& o) {
  // Of rows with one element each the step within a row says nothing. So a lone row, whose stride may be anything, is a
  // column transposed.
  const auto lines = [](bool transposed, Index step, Index stride, Index length) {
    return BackendOperand{transposed, stride, (step == 1 || length == 1) && stride >= length};
  };
  const BackendOperand plain = lines(false, o.column_stride, o.row_stride, o.columns);
  return plain.fits ? plain : lines(true, o.row_stride, o.column_stride, o.rows);
}

#if defined(NORMA_BACKEND_BLAS)
// Sizes are int in most builds of these libraries.
using BackendSize = int;

template <class T>
bool call_backend(BackendOperand a, const T* a_data, BackendOperand b, const T* b_data, MatrixView<T> c, Index k,
                  T beta) noexcept {
  const auto size = [](Index n) { return static_cast<BackendSize>(n); };
  const auto run = [&](auto product) {
    product(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans, b.transposed ? CblasTrans : CblasNoTrans,
            size(c.rows), size(c.columns), size(k), T(1), a_data, size(a.stride), b_data, size(b.stride), beta, c.data,
            size(c.stride));
  };
  if constexpr (std::is_same_v<T, float>) {
    run(cblas_sgemm);
  } else {
    run(cblas_dgemm);
  }
  return true;
}
#elif defined(NORMA_BACKEND_ONEDNN)
using BackendSize = dnnl_dim_t;

inline bool call_backend(BackendOperand a, const float* a_data, BackendOperand b, const float* b_data,
                         MatrixView<float> c, Index k, float beta) noexcept {
  return dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', c.rows, c.columns, k, 1, a_data, a.stride,
                    b_data, b.stride, beta, c.data, c.stride) == dnnl_success;
}
#else
using BackendSize = Index;
#endif

/// c = a b as gemm defines it, by the other library. False, with nothing added to c, where it is not called (another
/// type, an empty size, strides or sizes that it does not take) or fails: the own product follows.
template <class T>
bool backend_gemm([[maybe_unused]] const Operand<T>& a, [[maybe_unused]] const Operand<T>& b,
                  [[maybe_unused]] MatrixView<T> c, [[maybe_unused]] Write write,
                  [[maybe_unused]] const T* bias) noexcept {
  if constexpr (kOwnProduct<T>) {
    return false;
  } else {
    if (c.rows == 0 || c.columns == 0 || a.columns == 0) return false;
    const BackendOperand of_a = backend_operand(a), of_b = backend_operand(b);
    if (!of_a.fits || !of_b.fits || c.stride < c.columns) return false;
    const Index largest = (std::max)({c.rows, c.columns, a.columns, c.stride, of_a.stride, of_b.stride});
    if (largest > (std::numeric_limits<BackendSize>::max)()) return false;
    if (bias != nullptr)
      for (Index i = 0; i < c.rows; ++i) std::copy_n(bias, c.columns, c.row(i));
    return call_backend(of_a, a.data, of_b, b.data, c, a.columns, bias != nullptr || write == Write::add ? T(1) : T(0));
  }
}

}  // namespace detail
}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
