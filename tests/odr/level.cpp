// SPDX-License-Identifier: MIT
// Compiled once per instruction set, LEVEL its name: the same norms in every unit.
#include <norma/kernels/norm.hpp>
#include <norma/kernels/residual_norm.hpp>

#include "levels.hpp"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

namespace {

using namespace norma::kernels;
using norma::Compute, norma::MatrixView;

template <class S>
void run(double* results) {
  using T = Compute<S>;
  static S x[kRows * kWidth], w[kRows * kWidth], dy[kRows * kWidth], y[kRows * kWidth], dx[kRows * kWidth],
      dw[kRows * kWidth], gamma[kWidth], beta[kWidth], dgamma[kWidth], dbeta[kWidth];
  static T saved[3 * kRows], partial[2 * kWidth];
  static double total[2 * kWidth];
  unsigned state = 1;
  const auto random = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<S>(static_cast<double>(state >> 8) * 0x1p-23 - 1);
  };
  for (S* a : {x, w, dy})
    for (int i = 0; i < kRows * kWidth; ++i) a[i] = random();
  for (int i = 0; i < kWidth; ++i) gamma[i] = random(), beta[i] = random(), dgamma[i] = dbeta[i] = S(0.0f);
  for (int i = 0; i < kWidth; ++i) x[2 * kWidth + i] = S(0.0f);  // for the scaled path, in RMSNorm with eps 0

  const MatrixView<const S> in(x, kRows, kWidth), branch(w, kRows, kWidth), d_out(dy, kRows, kWidth);
  const MatrixView<S> out(y, kRows, kWidth), d_in(dx, kRows, kWidth), d_branch(dw, kRows, kWidth);
  const SavedStatistics<T> statistics{saved, saved + kRows, saved + 2 * kRows};
  const ColumnSums<T> sums{partial, total, 2 * kWidth};
  const auto keep = [&](const S* values) {
    for (int i = 0; i < kRows * kWidth; ++i) *results++ = static_cast<double>(values[i]);
  };
  norm_forward<Center::mean, S>(in, gamma, beta, 1e-5, out, statistics);
  keep(y);
  norm_backward<Center::mean, S>(in, d_out, gamma, 1e-5, statistics, d_in, norma::Write::assign, dgamma, dbeta, sums);
  keep(dx);
  norm_forward<Center::none, S>(in, gamma, nullptr, 0, out, statistics);
  keep(y);
  const ScaledSum<S> sum{in, branch, 0.5, 2};
  residual_norm_forward<Center::mean>(sum, gamma, beta, 1e-5, d_in, out, statistics);
  keep(y);
  residual_norm_backward<Center::mean>(sum, sum, d_out, in, gamma, 1e-5, SavedStatistics<const T>(statistics), d_in,
                                       norma::Write::assign, d_branch, dgamma, dbeta, sums);
  keep(dx);
  keep(dw);
}

void results(double* of_float, double* of_double, double* of_bfloat16, double* of_half) {
  run<float>(of_float);
  run<double>(of_double);
  run<norma::bfloat16>(of_bfloat16);
  run<norma::half>(of_half);
}
bool runs_here() {
#if defined(NORMA_AVX512)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#elif defined(NORMA_AVX2)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#else
  return true;
#endif
}

}  // namespace

Level JOIN(LEVEL, _level)() {
  return {TEXT(NORMA_TARGET), runs_here, results, reinterpret_cast<Kernel>(&norm_forward<Center::mean, float>)};
}
