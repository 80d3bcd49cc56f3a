// SPDX-License-Identifier: MIT
// A residual connection and its norm on guarded matrices: by the fused kernel, and by loops and the norm alone.
#pragma once

#include <norma/kernels/norm.hpp>
#include <norma/kernels/residual_norm.hpp>

#include "kernel_norm_oracle.hpp"

namespace norma_test {

enum class Factor { absent, number, channel };  ///< number: the first of the values
/// One buffer for two matrices.
enum class Alias { none, s_is_x, y_is_w, dx_is_dy, dx_is_ds };

struct ResidualCase {
  Index rows, width;
  bool channels = false;  ///< ChannelSum in place of ScaledSum
  Factor a = Factor::number, g = Factor::number;
  bool bias = false;
  bool gamma = true, beta = true, unit_offset = false, ds = true, dw = true;
  bool store = true;        ///< forward leaves s
  bool from_stored = true;  ///< backward reads it
  bool save = true;         ///< forward leaves the statistics
  norma::Write write = norma::Write::assign;
  Alias alias = Alias::none;
  Index offset = 0, gap = 0;
  bool all_kinds = false;  ///< rows of every kind, else normal ones
  double eps = 1e-5;

  friend std::ostream& operator<<(std::ostream& to, const ResidualCase& c) {
    return to << c.rows << " x " << c.width << (c.channels ? ", channels" : "") << ", a " << static_cast<int>(c.a)
              << " g " << static_cast<int>(c.g) << " bias " << c.bias << " gamma " << c.gamma << " beta " << c.beta
              << " unit offset " << c.unit_offset << " ds " << c.ds << " dw " << c.dw << " store " << c.store
              << " from stored " << c.from_stored << " save " << c.save << " add " << (c.write == norma::Write::add)
              << " alias " << static_cast<int>(c.alias) << " offset " << c.offset << " gap " << c.gap << " kinds "
              << c.all_kinds;
  }
};

template <class Storage, Center C>
struct Residual {
  using S = typename Storage::S;
  using P = typename Storage::P;
  using T = typename Storage::T;
  template <class M>
  using Matrix = Guarded<M>;

  ResidualCase c;
  norma::Executor executor;
  Matrix<S> x, w, dy, ds, s, y, dx, dw, t;
  Matrix<P> gamma, beta, bias, a, g;
  Matrix<P> dgamma, dbeta, dbias, da, dg;
  Matrix<T> hi, lo, rstd;

  explicit Residual(const ResidualCase& problem, const norma::Executor& e = {})
      : c(problem),
        executor(e),
        x(matrix(0, c.gap)),
        w(matrix(1, 2 * c.gap)),
        dy(matrix(2, c.gap)),
        ds(matrix(3, 3 * c.gap)),
        s(matrix(4, c.gap)),
        y(matrix(5, c.gap)),
        dx(matrix(6, c.gap)),
        dw(matrix(7, 2 * c.gap)),
        t(c.rows, c.width),
        gamma(vector(1)),
        beta(vector(2)),
        bias(vector(3)),
        a(vector(4)),
        g(vector(5)),
        dgamma(vector(6)),
        dbeta(vector(7)),
        dbias(vector(8)),
        da(vector(9)),
        dg(vector(10)),
        hi(1, c.rows),
        lo(1, c.rows),
        rstd(1, c.rows) {
    Random random(static_cast<std::uint64_t>(c.width));
    const auto noise = [&](Index, Index) { return random.normal(); };
    for (Index r = 0; r < c.rows; ++r)
      for (auto* m : {&x, &w})
        fill_row(c.all_kinds ? kAllRows[static_cast<std::size_t>(r) % kAllRows.size()] : Rows::normal, m->row(r),
                 c.width, random);
    for (auto* m : {&dy, &ds, &dx}) m->fill(noise);
    for (auto* m : {&gamma, &beta, &bias, &a, &g, &dgamma, &dbeta, &dbias, &da, &dg}) m->fill(noise);
  }

  T skip(Index i) const { return factor(c.a, a, i); }
  T branch(Index i) const { return factor(c.g, g, i); }

  void fused() {
    if (c.channels)
      run(norma::kernels::ChannelSum<S, P>{x.in(), w.in(), channel_factor(c.a, a), channel_factor(c.g, g),
                                           c.bias ? bias.data() : nullptr});
    else
      run(norma::kernels::ScaledSum<S>{x.in(), w.in(), value(skip(0)), value(branch(0))});
  }
  void unfused() {
    each([&](Index r, Index i) {
      const T skipped = static_cast<T>(x(r, i)), branched = static_cast<T>(w(r, i));
      const T b = c.bias ? static_cast<T>(bias(0, i)) : T(0);
      s(r, i) = static_cast<S>(norma::simd::fma(
          skip(i), skipped, c.channels ? norma::simd::fma(branch(i), branched, b) : branch(i) * branched));
    });
    norma::kernels::norm_forward<C, S, P>(s.in(), gamma_or_null(), beta_or_null(), c.eps, y.view(), statistics(),
                                          c.unit_offset);
    if (c.ds) each([&](Index r, Index i) { t(r, i) = ds(r, i); });
    std::vector<T> partial(2 * width());
    std::vector<double> total(2 * width() * blocks());
    norma::kernels::norm_backward<C, S, P>(s.in(), dy.in(), gamma_or_null(), c.eps, statistics(), t.view(),
                                           c.ds ? norma::Write::add : norma::Write::assign,
                                           c.gamma ? dgamma.data() : nullptr, c.beta ? dbeta.data() : nullptr,
                                           {partial.data(), total.data(), 2 * c.width}, c.unit_offset);
    each([&](Index r, Index i) {
      const T d = static_cast<T>(t(r, i));
      dx(r, i) = static_cast<S>(c.write == norma::Write::add ? norma::simd::fma(skip(i), d, static_cast<T>(dx(r, i)))
                                                             : skip(i) * d);
      if (c.dw) dw(r, i) = static_cast<S>(branch(i) * d);
    });
  }

  template <class F>
  void each(const F& f) const {
    for (Index r = 0; r < c.rows; ++r)
      for (Index i = 0; i < c.width; ++i) f(r, i);
  }
  bool intact() const {
    return x.intact() && w.intact() && dy.intact() && ds.intact() && s.intact() && y.intact() && dx.intact() &&
           dw.intact() && gamma.intact() && beta.intact() && bias.intact() && a.intact() && g.intact() &&
           dgamma.intact() && dbeta.intact() && dbias.intact() && da.intact() && dg.intact() && hi.intact() &&
           lo.intact() && rstd.intact();
  }

 private:
  std::size_t width() const { return static_cast<std::size_t>(c.width); }
  std::size_t blocks() const { return static_cast<std::size_t>(c.rows / 256 + 1); }
  Matrix<S> matrix(Index shift, Index gap) const { return Matrix<S>(c.rows, c.width, (c.offset + shift) % 17, gap); }
  Matrix<P> vector(Index shift) const { return Matrix<P>(1, c.width, (c.offset + shift) % 17); }
  const P* gamma_or_null() const { return c.gamma ? gamma.data() : nullptr; }
  const P* beta_or_null() const { return c.beta ? beta.data() : nullptr; }
  norma::kernels::SavedStatistics<T> statistics() { return {hi.data(), lo.data(), rstd.data()}; }
  static T factor(Factor kind, const Matrix<P>& values, Index i) {
    return kind == Factor::absent ? T(1) : static_cast<T>(values(0, kind == Factor::channel ? i : 0));
  }
  static norma::kernels::ChannelFactor<P> channel_factor(Factor kind, const Matrix<P>& values) {
    return {kind == Factor::number ? value(values(0, 0)) : 1, kind == Factor::channel ? values.data() : nullptr};
  }

  template <class Sum>
  void run(const Sum& sum) {
    // A buffer that forward overwrites, backward reads again: it gets its own copy.
    Matrix<S> x_and_s = x, w_and_y = w;
    Sum input = sum;
    if (c.alias == Alias::s_is_x) input.x = x_and_s.in();
    if (c.alias == Alias::y_is_w) input.w = w_and_y.in();
    const norma::MatrixView<S> to_s = c.alias == Alias::s_is_x ? x_and_s.view() : s.view(),
                               to_y = c.alias == Alias::y_is_w ? w_and_y.view() : y.view();
    const auto saved = c.save ? statistics() : norma::kernels::SavedStatistics<T>{};
    norma::kernels::residual_norm_forward<C>(input, gamma_or_null(), beta_or_null(), c.eps,
                                             c.store ? to_s : norma::MatrixView<S>{}, to_y, saved, c.unit_offset,
                                             executor);
    EXPECT_TRUE(x_and_s.intact() && w_and_y.intact());
    if (c.alias == Alias::s_is_x) each([&](Index r, Index i) { s(r, i) = x_and_s(r, i); });
    if (c.alias == Alias::y_is_w) each([&](Index r, Index i) { y(r, i) = w_and_y(r, i); });
    Matrix<S> dy_or_dx = dy, ds_or_dx = ds;
    const bool on_dy = c.alias == Alias::dx_is_dy, on_ds = c.alias == Alias::dx_is_ds;
    const norma::MatrixView<S> to_dx = on_dy   ? dy_or_dx.view()
                                       : on_ds ? ds_or_dx.view()
                                               : dx.view(),
                               to_dw = c.dw ? dw.view() : norma::MatrixView<S>{};
    const norma::MatrixView<const S> from_ds = c.ds ? ds_or_dx.in() : norma::MatrixView<const S>{};
    const auto backward = [&](const auto& rows) {
      constexpr bool kChannels = std::is_same_v<Sum, norma::kernels::ChannelSum<S, P>>;
      const Index columns = (kChannels ? norma::kernels::ResidualGradients<P>::kColumns : 2) * c.width;
      Matrix<T> partial(executor.workers, columns, 3);
      Matrix<double> total(static_cast<Index>(blocks()), columns, 1);
      const norma::kernels::ColumnSums<T> sums{partial.data(), total.data(), columns};
      P *const to_gamma = c.gamma ? dgamma.data() : nullptr, *const to_beta = c.beta ? dbeta.data() : nullptr;
      if constexpr (kChannels)
        norma::kernels::residual_norm_backward<C>(
            sum, rows, dy_or_dx.in(), from_ds, gamma_or_null(), c.eps, saved, to_dx, c.write, to_dw,
            norma::kernels::ResidualGradients<P>{to_gamma, to_beta, c.bias ? dbias.data() : nullptr,
                                                 c.a != Factor::absent ? da.data() : nullptr,
                                                 c.g != Factor::absent ? dg.data() : nullptr},
            sums, c.unit_offset, executor);
      else
        norma::kernels::residual_norm_backward<C>(sum, rows, dy_or_dx.in(), from_ds, gamma_or_null(), c.eps, saved,
                                                  to_dx, c.write, to_dw, to_gamma, to_beta, sums, c.unit_offset,
                                                  executor);
      EXPECT_TRUE(partial.intact() && total.intact());
    };
    if (c.from_stored)
      backward(s.in());
    else
      backward(sum);
    EXPECT_TRUE(dy_or_dx.intact() && ds_or_dx.intact());
    if (on_dy || on_ds) each([&](Index r, Index i) { dx(r, i) = (on_dy ? dy_or_dx : ds_or_dx)(r, i); });
  }
};

/// Equal to the last bit; or NaN both, whose payload depends on which operand it came from.
template <class M>
bool same_or_nan(const Guarded<M>& p, const Guarded<M>& q) {
  for (Index r = 0; r < p.rows(); ++r)
    for (Index i = 0; i < p.width(); ++i)
      if (bits(p(r, i)) != bits(q(r, i)) && !(std::isnan(value(p(r, i))) && std::isnan(value(q(r, i))))) return false;
  return true;
}

}  // namespace norma_test
