// SPDX-License-Identifier: MIT
// Dropout (Srivastava et al., JMLR 2014) and drop path (Huang et al., arXiv 1603.09382; per sample, as in DeiT), scaled
// at training time: what is kept is divided by 1 - rate. The mask is a function of seed, step, site and element, so
// backward computes it again, and any number of threads computes the same.
#pragma once

#include <norma/core/check.hpp>
#include <norma/core/rng.hpp>
#include <norma/core/view.hpp>
#include <norma/kernels/simd_memory.hpp>

#include <string>

namespace norma::inline v0_1::inline NORMA_TARGET::kernels {

/// A rate that is one. \throws Error, naming it
inline double checked_rate(double rate, const char* name) {
  if (!simd::is_finite(rate) || rate < 0 || rate > 1)
    fail(std::string(name) + " is " + std::to_string(rate) + ", wanted 0 to 1");
  return rate;
}

/// Which elements stay. Rate 0: all, and nothing is drawn.
struct Dropout {
  double rate = 0;
  Rng rng{0};

  bool acts() const { return rate > 0; }
  /// 1 / (1 - rate) where element i stays, else 0. At rate 1 nothing stays.
  double factor(Index i) const { return rng.uniform(static_cast<std::uint64_t>(i)) < rate ? 0.0 : 1 / (1 - rate); }
};

/// x times its factor, element by element, in place: forward on the branch, backward on its gradient. A dropped element
/// is zero even where it was NaN.
template <class T>
void drop_elements(const Dropout& dropout, MatrixView<T> x) noexcept {
  if (!dropout.acts()) return;
  for (Index r = 0; r < x.rows; ++r)
    for (Index i = 0; i < x.columns; ++i) {
      const double factor = dropout.factor(r * x.columns + i);
      x.row(r)[i] = factor == 0 ? T(0) : x.row(r)[i] * static_cast<T>(factor);
    }
}

/// The same with one draw for every sequence of `tokens` rows.
template <class T>
void drop_samples(const Dropout& dropout, Index tokens, MatrixView<T> x) noexcept {
  if (!dropout.acts()) return;
  for (Index r = 0; r < x.rows; ++r) {
    const double factor = dropout.factor(r / tokens);
    for (Index i = 0; i < x.columns; ++i) x.row(r)[i] = factor == 0 ? T(0) : x.row(r)[i] * static_cast<T>(factor);
  }
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::kernels
