// SPDX-License-Identifier: MIT
// Static hyper-connections (arXiv 2409.19606, equations 1 to 5): N rows per token, mixed by learned matrices. Written
// as a user would: against the public headers only.
#pragma once

#include "placement_scales.hpp"

namespace user {

/// u = A_m^T H. At first it picks part site mod N.
template <int N>
struct ReadMix {
  static constexpr int parts = N;
  static constexpr bool needs_x = true;
  struct Tape {};
  int site;
  Parameter a{};

  void declare(Layout& layout, Index) {
    a = layout.add("a_m", 1, N, Kind::scale, [k = site % N](Index, Index c) { return double(c == k); });
  }
  Tape plan(Plan&, const Pass&) const { return {}; }
  template <class T>
  void forward(const T* weights, const Stream<N, const T>& s, MatrixView<T> y, const Tape&) const {
    const T* m = a.in(weights).data;
    each(y, [&](Index r, Index i) {
      T sum = 0;
      for (std::size_t p = 0; p < N; ++p) sum += m[p] * s[p].row(r)[i];
      y.row(r)[i] = sum;
    });
  }
  template <class T>
  void backward(const T* weights, const Stream<N, const T>& s, MatrixView<const T> dy, const Stream<N, T>& ds,
                T* gradients, const Tape&) const {
    const T* m = a.in(weights).data;
    for (std::size_t p = 0; p < N; ++p) {
      double sum = 0;
      each(dy, [&](Index r, Index i) {
        sum += double(s[p].row(r)[i]) * double(dy.row(r)[i]);
        ds[p].row(r)[i] += m[p] * dy.row(r)[i];
      });
      a.in(gradients).data[p] += static_cast<T>(sum);
    }
  }
};

/// H' = A_r^T H + B w. At first A_r is the identity and B is one.
template <int N>
struct WriteMix {
  static constexpr bool needs_skip = true, needs_branch = true;
  static constexpr bool writes(int) { return true; }
  Parameter a{}, b{};

  void declare(Layout& layout, Index) {
    a = layout.add("a_r", N, N, Kind::scale, [](Index r, Index c) { return double(r == c); });
    b = layout.add("b", 1, N, Kind::scale, constant(1));
  }
  template <class T>
  void forward(const T* weights, const Stream<N, const T>& s, MatrixView<const T> w, const Stream<N, T>& to) const {
    const auto mix = a.in(weights);
    const T* gain = b.in(weights).data;
    each(w, [&](Index r, Index i) {
      for (int q = 0; q < N; ++q) {
        T sum = gain[q] * w.row(r)[i];
        for (int p = 0; p < N; ++p) sum += mix.row(p)[q] * s[p].row(r)[i];
        to[q].row(r)[i] = sum;
      }
    });
  }
  template <class T>
  void backward(const T* weights, const Stream<N, const T>& s, MatrixView<const T> w, const Stream<N, T>& ds,
                MatrixView<T> dw, T* gradients) const {
    const auto mix = a.in(weights);
    const T* gain = b.in(weights).data;
    double d_mix[N][N] = {}, d_gain[N] = {};
    each(w, [&](Index r, Index i) {
      T d[N] = {}, d_branch = 0;
      for (int q = 0; q < N; ++q) {
        const T dq = ds[q].row(r)[i];
        d_branch += gain[q] * dq;
        d_gain[q] += double(dq) * double(w.row(r)[i]);
        for (int p = 0; p < N; ++p) {
          d[p] += mix.row(p)[q] * dq;
          d_mix[p][q] += double(dq) * double(s[p].row(r)[i]);
        }
      }
      for (int p = 0; p < N; ++p) ds[p].row(r)[i] = d[p];
      dw.row(r)[i] = d_branch;
    });
    for (int q = 0; q < N; ++q) {
      b.in(gradients).data[q] += static_cast<T>(d_gain[q]);
      for (int p = 0; p < N; ++p) a.in(gradients).row(p)[q] += static_cast<T>(d_mix[p][q]);
    }
  }
};

/// A reader: the sum of all parts.
template <int N>
struct SumParts {
  static constexpr int parts = N;
  static constexpr bool needs_x = false;
  struct Tape {};
  void declare(Layout&, Index) {}
  Tape plan(Plan&, const Pass&) const { return {}; }
  template <class T>
  void forward(const T*, const Stream<N, const T>& s, MatrixView<T> y, const Tape&) const {
    each(y, [&](Index r, Index i) {
      T sum = 0;
      for (const auto& part : s) sum += part.row(r)[i];
      y.row(r)[i] = sum;
    });
  }
  template <class T>
  void backward(const T*, const Stream<N, const T>&, MatrixView<const T> dy, const Stream<N, T>& ds, T*,
                const Tape&) const {
    for (const auto& part : ds) each(dy, [&](Index r, Index i) { part.row(r)[i] += dy.row(r)[i]; });
  }
};

template <int N>
struct HyperConnections {
  auto slots(auto at) const {
    return place<N>().pre(then(ReadMix<N>{at.site}, at.norm)).join(WriteMix<N>{}).close(then(SumParts<N>{}, at.norm));
  }
};

/// Pre-LN closed by a reader of its one part.
struct ClosedByReader {
  auto slots(auto at) const { return place().pre(at.norm).close(then(SumParts<1>{}, at.norm)); }
};

}  // namespace user
