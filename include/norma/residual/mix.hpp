// SPDX-License-Identifier: MIT
// A reader and a join that mix the parts of a stream: hyper-connections. Their coefficients are parameters (static),
// to which a token may add its own (dynamic).
#pragma once

#include <norma/kernels/elementwise.hpp>
#include <norma/kernels/stream_mix.hpp>
#include <norma/residual/join.hpp>

#include <array>
#include <cmath>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// Coefficients that no token changes. C: how many each part has.
template <class T, int Parts, int C>
struct StaticMix {
  struct Tape {};
  void declare(Layout&, Index) {}
  Tape plan(Plan&, const Pass&) const { return {}; }
  MatrixView<const T> measure(const T*, const T* base, const Stream<Parts, const T>& s, const Tape&) const {
    return {base, s[0].rows, Parts * C, 0};
  }
  MatrixView<const T> again(const T*, const T* base, const Stream<Parts, const T>& s, const Tape&) const {
    return {base, s[0].rows, Parts * C, 0};
  }
  void backward(const T*, const Stream<Parts, const T>&, MatrixView<const T>, const Stream<Parts, T>&, T*,
                const Tape&) const {}
};

/// base + scale tanh(W norm(s_p)), for every part p of every token. The coefficients of part p are those of the parts
/// that it goes to (C > 1: w_r and the scale s_a), and its share of the branch (w_b and s_b); of the reader (C = 1),
/// w_m and s_a. W is 0 at first and both scales are 0.01. The norm and s_a are the site's: reader and join share them.
template <class Norm, int Parts, int C>
class DynamicMix {
 public:
  using T = typename Norm::Scalar;
  static constexpr bool kReader = C == 1;
  struct Tape {
    MatrixView<T> tanhs;                 // [rows, Parts C]
    MatrixView<T> coefficients, normed;  // scratch
    MatrixView<T> d_normed;
    kernels::ColumnSums<T> matrix_sums, scale_sums;
    std::array<typename Norm::Tape, Parts> norms;
    Executor executor;
  };

  explicit DynamicMix(const Norm& norm) : norm_(norm) {}

  void declare(Layout& layout, Index width) {
    width_ = width;
    {
      Layout::SharedLevel level(layout, Scope::site, "mix_norm");
      norm_.declare(layout, width);
    }
    s_a_ = layout.shared(Scope::site, "s_a", 1, 1, Kind::scale, constant(0.01));
    w_ = layout.add(kReader ? "w_m" : "w_r", kReader ? 1 : Parts, width, Kind::scale, constant(0));
    if constexpr (!kReader) {
      s_b_ = layout.shared(Scope::site, "s_b", 1, 1, Kind::scale, constant(0.01));
      w_b_ = layout.add("w_b", 1, width, Kind::scale, constant(0));
    }
  }
  Tape plan(Plan& p, const Pass& pass) const {
    const Index rows = pass.shape.rows();
    Tape t{};
    t.tanhs = p.keep<T>(rows, Parts * C);
    t.coefficients = p.scratch<T>(rows, Parts * C);
    if (active(norm_)) t.normed = p.scratch<T>(rows, width_);
    t.d_normed = p.gradient<T>(rows, width_);
    t.matrix_sums = kernels::ColumnSums<T>::plan(p, rows, C * width_);
    t.scale_sums = kernels::ColumnSums<T>::plan(p, rows, Parts * C);
    t.executor = p.executor();
    for (auto& norm : t.norms) norm = p.child(norm_, pass);
    return t;
  }

  /// The coefficients of every row, in scratch, and what backward needs of them.
  MatrixView<const T> measure(const T* weights, const T* base, const Stream<Parts, const T>& s, const Tape& t) const {
    for (std::size_t p = 0; p < Parts; ++p) {
      const MatrixView<const T> h = normed(weights, s[p], t, p);
      each_row(t, [&](Index r) {
        for (Index c = 0; c < C; ++c)
          t.tanhs.row(r)[static_cast<Index>(p) * C + c] =
              std::tanh(static_cast<T>(kernels::row_dot(h.row(r), matrix_row(weights, c), width_)));
      });
    }
    return again(weights, base, s, t);
  }
  /// The same from what was kept.
  MatrixView<const T> again(const T* weights, const T* base, const Stream<Parts, const T>&, const Tape& t) const {
    each_row(t, [&](Index r) {
      for (Index i = 0; i < Parts * C; ++i)
        t.coefficients.row(r)[i] = simd::fma(scale(weights, i % C), t.tanhs.row(r)[i], base[i]);
    });
    return t.coefficients;
  }
  /// d: gradient of the coefficients. Adds to ds.
  void backward(const T* weights, const Stream<Parts, const T>& s, MatrixView<const T> d, const Stream<Parts, T>& ds,
                T* gradients, const Tape& t) const {
    t.scale_sums.over_rows(t.executor, d.rows, [&](Index first, Index last, T* partial, double*) {
      for (Index r = first; r < last; ++r)
        for (Index i = 0; i < Parts * C; ++i) partial[i] = simd::fma(d.row(r)[i], t.tanhs.row(r)[i], partial[i]);
    });
    for (Index i = 0; i < Parts * C; ++i)
      t.scale_sums.add_to((of_branch(i % C) ? s_b_ : s_a_).in(gradients).data, i, 1);
    for (std::size_t p = 0; p < Parts; ++p) {
      const auto dz = [&](Index r, Index c) {
        const Index i = static_cast<Index>(p) * C + c;
        const T tanh = t.tanhs.row(r)[i];
        return d.row(r)[i] * scale(weights, c) * simd::fma(-tanh, tanh, T(1));
      };
      const MatrixView<const T> h = normed(weights, s[p], t, p);
      t.matrix_sums.over_rows(t.executor, d.rows, [&](Index first, Index last, T* partial, double*) {
        for (Index r = first; r < last; ++r) {
          const MatrixView<T> dh = t.d_normed.middle_rows(r, 1);
          kernels::fill(dh, T(0));
          for (Index c = 0; c < C; ++c) {
            const MatrixView<T> sum{partial + c * width_, 1, width_};
            kernels::scale_add<T>(h.middle_rows(r, 1), dz(r, c), sum, sum);
            kernels::scale_add<T>({matrix_row(weights, c), 1, width_}, dz(r, c), dh, dh);
          }
        }
      });
      for (Index c = 0; c < C; ++c) t.matrix_sums.add_to(matrix_row(gradients, c), c * width_, width_);
      if (active(norm_))
        norm_.backward(weights, s[p], MatrixView<const T>(t.d_normed), ds[p], Write::add, gradients, t.norms[p]);
      else
        kernels::add(ds[p], t.d_normed, ds[p]);
    }
  }

 private:
  /// Whether a coefficient is a share of the branch.
  static constexpr bool of_branch(Index c) { return !kReader && c == C - 1; }
  T scale(const T* weights, Index c) const { return *(of_branch(c) ? s_b_ : s_a_).in(weights).data; }
  template <class Element>
  Element* matrix_row(Element* buffer, Index c) const {
    return of_branch(c) ? w_b_.in(buffer).data : w_.in(buffer).row(c);
  }
  MatrixView<const T> normed(const T* weights, MatrixView<const T> s, const Tape& t, std::size_t p) const {
    if (!active(norm_)) return s;
    norm_.forward(weights, s, t.normed, t.norms[p]);
    return t.normed;
  }
  template <class F>
  static void each_row(const Tape& t, const F& f) {
    t.executor.split(t.tanhs.rows, 1, [&](Index, Index begin, Index end) {
      for (Index r = begin; r < end; ++r) f(r);
    });
  }

  Norm norm_;
  Index width_ = 0;
  Parameter s_a_{}, s_b_{}, w_{}, w_b_{};
};

/// A reader: u = A_m^T H, the parts of every token added with coefficients. At first it picks part site mod Parts.
/// Parameters: a_m [Parts], and those of `Dynamic`.
template <class T, int Parts, class Dynamic = StaticMix<T, Parts, 1>>
class ReadMix {
 public:
  using Scalar = T;
  static constexpr int parts = Parts;
  static constexpr bool needs_x = true;
  struct Tape {
    typename Dynamic::Tape dynamic;
    MatrixView<T> d_coefficients;
    kernels::ColumnSums<T> sums;
    Executor executor;
  };

  explicit ReadMix(int site, Dynamic dynamic = {}) : first_(site % Parts), dynamic_(std::move(dynamic)) {}

  void declare(Layout& layout, Index width) {
    a_ = layout.add("a_m", 1, Parts, Kind::scale, [k = first_](Index, Index c) { return c == k ? 1.0 : 0.0; });
    dynamic_.declare(layout, width);
  }
  Tape plan(Plan& p, const Pass& pass) const {
    const Index rows = pass.shape.rows();
    Tape t{};
    t.d_coefficients = p.gradient<T>(rows, Parts);
    t.sums = kernels::ColumnSums<T>::plan(p, rows, Parts);
    t.executor = p.executor();
    t.dynamic = p.child(dynamic_, pass);
    return t;
  }
  void forward(const T* weights, const Stream<Parts, const T>& s, MatrixView<T> y, const Tape& t) const {
    kernels::mix_read(t.executor, dynamic_.measure(weights, a_.in(weights).data, s, t.dynamic), s, y);
  }
  void backward(const T* weights, const Stream<Parts, const T>& s, MatrixView<const T> dy, const Stream<Parts, T>& ds,
                T* gradients, const Tape& t) const {
    const MatrixView<const T> m = dynamic_.again(weights, a_.in(weights).data, s, t.dynamic);
    kernels::mix_read_backward(t.executor, m, s, dy, ds, t.d_coefficients);
    kernels::column_sums<T>(t.executor, t.d_coefficients, t.sums);
    t.sums.add_to(a_.in(gradients).data, 0, Parts);
    dynamic_.backward(weights, s, t.d_coefficients, ds, gradients, t.dynamic);
  }

 private:
  Index first_;
  Dynamic dynamic_;
  Parameter a_{};
};

/// A join: H' = A_r^T H + B w. At first A_r is the identity and B is one. Parameters: a_r [Parts, Parts], b [Parts],
/// and those of `Dynamic`.
template <class T, int Parts, class Dynamic = StaticMix<T, Parts, Parts + 1>>
class WriteMix : public PlannedJoin {
 public:
  static constexpr bool needs_skip = true, needs_branch = true;
  static constexpr bool writes(int) { return true; }
  static constexpr Index kCoefficients = Parts * (Parts + 1);
  struct Tape {
    typename Dynamic::Tape dynamic;
    MatrixView<T> base, d_coefficients;
    kernels::ColumnSums<T> sums;
    Executor executor;
  };

  explicit WriteMix(Dynamic dynamic = {}) : dynamic_(std::move(dynamic)) {}

  void declare(Layout& layout, Index width) {
    a_ = layout.add("a_r", Parts, Parts, Kind::scale, [](Index r, Index c) { return r == c ? 1.0 : 0.0; });
    b_ = layout.add("b", 1, Parts, Kind::scale, constant(1));
    dynamic_.declare(layout, width);
  }
  Tape plan(Plan& p, const Pass& pass) const {
    const Index rows = pass.shape.rows();
    Tape t{};
    t.base = p.scratch<T>(1, kCoefficients);
    t.d_coefficients = p.gradient<T>(rows, kCoefficients);
    t.sums = kernels::ColumnSums<T>::plan(p, rows, kCoefficients);
    t.executor = p.executor();
    t.dynamic = p.child(dynamic_, pass);
    return t;
  }
  void forward(const T* weights, const Stream<Parts, const T>& s, MatrixView<const T> w, const Stream<Parts, T>& to,
               const Tape& t) const {
    kernels::mix_write(t.executor, dynamic_.measure(weights, base(weights, t), s, t.dynamic), s, w, to);
  }
  void backward(const T* weights, const Stream<Parts, const T>& s, MatrixView<const T> w, const Stream<Parts, T>& ds,
                MatrixView<T> dw, T* gradients, const Tape& t) const {
    const MatrixView<const T> c = dynamic_.again(weights, base(weights, t), s, t.dynamic);
    kernels::mix_write_backward(t.executor, c, s, w, ds, dw, t.d_coefficients);
    kernels::column_sums<T>(t.executor, t.d_coefficients, t.sums);
    for (Index p = 0; p < Parts; ++p) {
      t.sums.add_to(a_.in(gradients).row(p), p * (Parts + 1), Parts);
      t.sums.add_to(b_.in(gradients).data + p, p * (Parts + 1) + Parts, 1);
    }
    dynamic_.backward(weights, s, t.d_coefficients, ds, gradients, t.dynamic);
  }

 private:
  /// Both parameters in the order of the kernels: row p of A_r, then b_p.
  const T* base(const T* weights, const Tape& t) const {
    for (Index p = 0; p < Parts; ++p) {
      std::copy_n(a_.in(weights).row(p), Parts, t.base.data + p * (Parts + 1));
      t.base.data[p * (Parts + 1) + Parts] = b_.in(weights).data[p];
    }
    return t.base.data;
  }

  Dynamic dynamic_;
  Parameter a_{}, b_{};
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
