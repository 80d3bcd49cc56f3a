// SPDX-License-Identifier: MIT
// Eigen's array expressions, row by row, as a user would write them.
#include "problem.hpp"

#include <Eigen/Core>
#include <cmath>
#include <memory>

namespace norm_benchmark {
namespace {

template <class T>
using Rows = Eigen::Array<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using Row = Eigen::Array<T, 1, Eigen::Dynamic>;
template <class T>
Eigen::Map<const Rows<T>> matrix(const T* p, Extent e) {
  return {p, e.rows, e.width};
}
template <class T>
Eigen::Map<Rows<T>> matrix(T* p, Extent e) {
  return {p, e.rows, e.width};
}

template <class T>
struct Kept {
  explicit Kept(Extent e) : mean(e.rows), rstd(e.rows), u(e.width), h(e.width) { mean.setZero(); }
  Eigen::Array<T, Eigen::Dynamic, 1> mean, rstd;  ///< of every row
  Row<T> u, h;                                    ///< of one row, while it is worked on
};

template <class T>
void forward(const Operation& operation, const Buffers<T>& b, const T* input, bool sum, Kept<T>& kept) {
  const auto x = matrix(input, b.extent), w = matrix(b.w, b.extent);
  auto y = matrix(b.y, b.extent), s = matrix(b.s, b.extent);
  const Eigen::Map<const Row<T>> gamma(b.gamma, b.extent.width), beta(b.beta, b.extent.width);
  for (Index r = 0; r < b.extent.rows; ++r) {
    if (sum)
      kept.u = x.row(r) + w.row(r);
    else
      kept.u = x.row(r);
    if (sum && operation.pass == Pass::forward) s.row(r) = kept.u;
    if (!operation.rms) {
      kept.mean[r] = kept.u.mean();
      kept.u -= kept.mean[r];
    }
    kept.rstd[r] = 1 / std::sqrt(kept.u.square().mean() + static_cast<T>(kEps));
    if (operation.rms)
      y.row(r) = kept.u * kept.rstd[r] * gamma;
    else
      y.row(r) = kept.u * kept.rstd[r] * gamma + beta;
  }
}

template <class T>
void backward(const Operation& operation, const Buffers<T>& b, Kept<T>& kept) {
  const auto x = matrix(b.input, b.extent), dy = matrix(b.dy, b.extent), ds = matrix(b.ds, b.extent);
  auto dx = matrix(b.dx, b.extent);
  const Eigen::Map<const Row<T>> gamma(b.gamma, b.extent.width);
  Eigen::Map<Row<T>> dgamma(b.dgamma, b.extent.width), dbeta(b.dbeta, b.extent.width);
  dgamma.setZero();
  dbeta.setZero();
  for (Index r = 0; r < b.extent.rows; ++r) {
    kept.h = dy.row(r) * gamma;
    if (operation.rms)
      kept.u = x.row(r) * kept.rstd[r];
    else
      kept.u = (x.row(r) - kept.mean[r]) * kept.rstd[r];
    const T mean_h = operation.rms ? T(0) : kept.h.mean(), mean_hu = (kept.h * kept.u).mean();
    if (operation.residual)
      dx.row(r) = (kept.h - mean_h - kept.u * mean_hu) * kept.rstd[r] + ds.row(r);
    else
      dx.row(r) = (kept.h - mean_h - kept.u * mean_hu) * kept.rstd[r];
    dgamma += dy.row(r) * kept.u;
    if (!operation.rms) dbeta += dy.row(r);
  }
}

template <class T>
Call call(const Operation& operation, const Buffers<T>& b) {
  const auto kept = std::make_shared<Kept<T>>(b.extent);
  if (operation.forward()) return [operation, b, kept] { forward(operation, b, b.x, operation.residual, *kept); };
  forward(operation, b, b.input, false, *kept);
  return [operation, b, kept] { backward(operation, b, *kept); };
}

}  // namespace

void add_eigen(std::vector<Implementation>& implementations, std::string& header) {
  implementations.push_back({"eigen", [](const Operation&) { return true; }, call<float>, call<double>, nullptr});
  header += "eigen: " + std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
            std::to_string(EIGEN_MINOR_VERSION) + ", " + Eigen::SimdInstructionSetsInUse() + ", 1 thread\n";
}

}  // namespace norm_benchmark
