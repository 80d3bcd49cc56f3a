// SPDX-License-Identifier: MIT
// An executor on OpenMP's threads. Include it where OpenMP is on (-fopenmp); nothing else in norma uses it.
#pragma once

#if !defined(_OPENMP)
#error "norma/core/openmp.hpp needs OpenMP: compile with -fopenmp, or give workspace() an executor of your own"
#endif
#include <omp.h>

#include <norma/core/executor.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// `workers` OpenMP threads; as many as OpenMP would use if zero.
inline Executor openmp(int workers = 0) {
  const int count = workers > 0 ? workers : omp_get_max_threads();
  return {count, [](void*, Index n, void (*task)(void*, Index), void* data) {
#pragma omp parallel for schedule(static, 1) num_threads(static_cast <int>(n))
            for (Index i = 0; i < n; ++i) task(data, i);
          }};
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
