// SPDX-License-Identifier: MIT
// Who runs the work of a pass: this thread alone, unless a workspace is given an executor. norma keeps no threads of
// its own.
#pragma once

#include <norma/core/shape.hpp>

#include <algorithm>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// A number of workers and one function. run(context, count, task, data) calls task(data, i) once for every i in [0,
/// count), on any threads, and returns when all are done. Work is cut by the number of workers, and results do not
/// depend on it, to the last bit. A task does not throw, and neither may run: forward and backward work through
/// noexcept kernels. Trivially copyable; the context outlives the workspaces that use it.
struct Executor {
  Index workers = 1;
  void (*run)(void* context, Index count, void (*task)(void* data, Index i),
              void* data) = nullptr;  ///< null: this thread, the one worker
  void* context = nullptr;

  /// Cuts [0, count) into one range per worker, each but the last a multiple of `granule`, and calls f(worker, begin,
  /// end) for those that are not empty.
  template <class F>
  void split(Index count, Index granule, const F& f) const {
    const Index pieces = (count + granule - 1) / granule, used = (std::min)(workers, pieces);
    if (run == nullptr || used <= 1) {
      if (count > 0) f(Index(0), Index(0), count);
      return;
    }
    struct Work {
      const F* f;
      Index count, granule, pieces, used;
    } work{&f, count, granule, pieces, used};
    run(
        context, used,
        [](void* data, Index i) {
          const Work& w = *static_cast<const Work*>(data);
          const Index begin = w.pieces * i / w.used * w.granule, end = w.pieces * (i + 1) / w.used * w.granule;
          (*w.f)(i, begin, (std::min)(end, w.count));
        },
        &work);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
