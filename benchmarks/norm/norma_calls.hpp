// SPDX-License-Identifier: MIT
// norma's kernels as the benchmark calls them: the one file to change when their signatures do.
#pragma once

#include <norma/core/plan.hpp>
#include <norma/kernels/column_sums.hpp>
#include <norma/kernels/elementwise.hpp>
#include <norma/kernels/norm.hpp>
#include <norma/kernels/residual_norm.hpp>

#include "arena.hpp"
#include "problem.hpp"

#include <memory>
#include <type_traits>

namespace norm_benchmark {

namespace kernels = norma::kernels;
using kernels::Center;
using norma::MatrixView;

using norma::Compute;

/// Statistics and scratch for one shape, as a module of norma would plan them.
template <class T>
class NormaScratch {
 public:
  explicit NormaScratch(Extent extent) {
    norma::Plan count(norma::Mode::training);
    plan(count, extent);
    memory_ = Memory(static_cast<std::size_t>(count.bytes()));
    norma::Plan carve(norma::Mode::training, memory_.data(), count.bytes());
    plan(carve, extent);
  }
  kernels::SavedStatistics<Compute<T>> saved() const { return saved_; }
  kernels::SavedStatistics<const Compute<T>> read() const { return {saved_.hi, saved_.lo, saved_.rstd}; }
  const kernels::ColumnSums<Compute<T>>& sums() const { return sums_; }

 private:
  void plan(norma::Plan& p, Extent extent) {
    using C = Compute<T>;
    saved_ = {p.keep<C>(extent.rows, 1).data, p.keep<C>(extent.rows, 1).data, p.keep<C>(extent.rows, 1).data};
    sums_ = kernels::ColumnSums<C>::plan(p, extent.rows, 2 * extent.width);
  }
  Memory memory_;
  kernels::SavedStatistics<Compute<T>> saved_;
  kernels::ColumnSums<Compute<T>> sums_;
};

template <class T>
MatrixView<T> view(T* data, Extent extent) {
  return {data, extent.rows, extent.width};
}

template <Center C, class T>
void norma_forward(const Buffers<T>& b, const T* x, const NormaScratch<T>& scratch) {
  kernels::norm_forward<C, T, Parameter<T>>(view(x, b.extent), b.gamma, C == Center::mean ? b.beta : nullptr, kEps,
                                            view(b.y, b.extent), scratch.saved());
}

/// Parameter gradients are added to what is there, as norma's contract says; others assign.
template <Center C, class T>
void norma_backward(const Buffers<T>& b, const NormaScratch<T>& scratch) {
  kernels::norm_backward<C, T, Parameter<T>>(view(b.input, b.extent), view(b.dy, b.extent), b.gamma, kEps,
                                             scratch.read(), view(b.dx, b.extent), norma::Write::assign, b.dgamma,
                                             C == Center::mean ? b.dbeta : nullptr, scratch.sums());
}

/// to = p + q
template <class T>
void norma_add(const Buffers<T>& b, const T* p, const T* q, T* to) {
  kernels::add<T>(view(p, b.extent), view(q, b.extent), view(to, b.extent));
}

/// y = norm(x + w); the sum goes to s, or nowhere.
template <Center C, class T>
void norma_residual_forward(const Buffers<T>& b, bool stored, const NormaScratch<T>& scratch) {
  const kernels::ScaledSum<T> sum{.x = view(b.x, b.extent), .w = view(b.w, b.extent)};
  kernels::residual_norm_forward<C>(sum, b.gamma, C == Center::mean ? b.beta : nullptr, kEps,
                                    stored ? view(b.s, b.extent) : MatrixView<T>{}, view(b.y, b.extent),
                                    scratch.saved());
}

/// dx, which is dw as well, from the stored sum.
template <Center C, class T>
void norma_residual_backward(const Buffers<T>& b, const NormaScratch<T>& scratch) {
  const kernels::ScaledSum<T> sum{.x = view(b.x, b.extent), .w = view(b.w, b.extent)};
  const MatrixView<const T> dy = view(b.dy, b.extent), ds = view(b.ds, b.extent), s = view(b.input, b.extent);
  kernels::residual_norm_backward<C>(sum, s, dy, ds, b.gamma, kEps, scratch.read(), view(b.dx, b.extent),
                                     norma::Write::assign, MatrixView<T>{}, b.dgamma,
                                     C == Center::mean ? b.dbeta : nullptr, scratch.sums());
}

}  // namespace norm_benchmark
