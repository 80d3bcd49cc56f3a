// SPDX-License-Identifier: MIT
// Case E03: no kernel reads or writes beyond the end of a row.
#include <norma/kernels/attention.hpp>
#include <norma/kernels/elementwise.hpp>
#include <norma/kernels/gemm.hpp>
#include <norma/kernels/norm.hpp>

#include <gtest/gtest.h>

#include "kernel_attention.hpp"
#include "kernel_guard_page.hpp"
#include "kernel_norm_oracle.hpp"

namespace {

using namespace norma_test;
using norma::Write;

template <class T, Center C>
void check_tail(Index n) {
  BeforeGuardPage<T> x(n), y(n), dy(n), dx(n), gamma(n), beta(n), dgamma(n), dbeta(n), partial(2 * n);
  BeforeGuardPage<double> total(2 * n);
  BeforeGuardPage<T> hi(1), lo(1), rstd(1);
  x.fill([](Index i) { return (7 * i) % 13 - 6; });
  dy.fill([](Index i) { return (5 * i) % 11 - 5; });
  gamma.fill([](Index i) { return 1 + 0.01 * static_cast<double>(i); });
  beta.fill([](Index i) { return 0.02 * static_cast<double>(i); });
  dgamma.fill([](Index) { return 0; });
  dbeta.fill([](Index) { return 0; });
  norma::kernels::norm_forward<C, T>({x.data(), 1, n}, gamma.data(), beta.data(), 1e-5, {y.data(), 1, n},
                                     {hi.data(), lo.data(), rstd.data()});
  norma::kernels::norm_backward<C, T>({x.data(), 1, n}, {dy.data(), 1, n}, gamma.data(), 1e-5,
                                      {hi.data(), lo.data(), rstd.data()}, {dx.data(), 1, n}, Write::assign,
                                      dgamma.data(), dbeta.data(), {partial.data(), total.data(), 2 * n});
  const NormOracle oracle(C, x.data(), n, 1e-5);
  std::vector<long double> right, size;
  oracle.backward(C, dy.data(), gamma.data(), right, size);
  for (Index i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    EXPECT_NEAR(
        static_cast<double>(y[i]),
        static_cast<double>(oracle.n[k] * static_cast<long double>(gamma[i]) + static_cast<long double>(beta[i])), 1e-5)
        << n;
    EXPECT_NEAR(static_cast<double>(dx[i]), static_cast<double>(right[k]), 1e-5 * static_cast<double>(size[k])) << n;
    EXPECT_NEAR(static_cast<double>(dgamma[i]), static_cast<double>(oracle.n[k]) * static_cast<double>(dy[i]), 1e-5)
        << n;
    EXPECT_EQ(dbeta[i], dy[i]) << n;
  }
}

TEST(CasesE, E03_TailsOfNorms) {
  for (Index n = 1; n <= 67; ++n) {
    check_tail<float, Center::mean>(n);
    check_tail<float, Center::none>(n);
    check_tail<double, Center::mean>(n);
    check_tail<double, Center::none>(n);
  }
}

template <class T>
void check_other_tails(Index n) {
  BeforeGuardPage<T> a(n), b(n), y(n);
  a.fill([](Index i) { return (7 * i) % 13 - 6; });
  b.fill([](Index i) { return (5 * i) % 11 - 5; });
  const norma::MatrixView<const T> va{a.data(), 1, n}, vb{b.data(), 1, n};
  const norma::MatrixView<T> vy{y.data(), 1, n};
  norma::kernels::add<T>(va, vb, vy);
  for (Index i = 0; i < n; ++i) ASSERT_EQ(y[i], a[i] + b[i]);
  norma::kernels::scale_add<T>(va, T(2), vb, vy);
  for (Index i = 0; i < n; ++i) ASSERT_EQ(y[i], 2 * a[i] + b[i]);
  // One query, two equal keys: the mean of the values; head_dim n.
  BeforeGuardPage<T> k(2 * n), v(2 * n), dk(2 * n), dv(2 * n), dq(n), lse(1);
  k.fill([&](Index i) { return b[i % n]; });
  v.fill([](Index i) { return i; });
  const auto shape = norma_test::with_packing<T>({1, 1, 2, 1, 1, n, 0.1});
  norma::kernels::attention_forward<T>(shape, va, {k.data(), 2, n}, {v.data(), 2, n}, vy, {lse.data(), 1, 1});
  for (Index i = 0; i < n; ++i)
    ASSERT_NEAR(static_cast<double>(y[i]), static_cast<double>(i) + static_cast<double>(n) / 2, 1e-4);
  norma::kernels::attention_backward<T>(shape, va, {k.data(), 2, n}, {v.data(), 2, n}, vy, {lse.data(), 1, 1}, vb,
                                        {dq.data(), 1, n}, {dk.data(), 2, n}, {dv.data(), 2, n});
  for (Index i = 0; i < n; ++i) ASSERT_NEAR(static_cast<double>(dv[i]), static_cast<double>(b[i]) / 2, 1e-5);
  // Products: n as the number of rows, of columns and of terms, with every operand at the end of its page.
  for (const auto& [rows, columns, terms] : {std::array<Index, 3>{n, 5, 3}, {5, n, 3}, {3, 5, n}}) {
    BeforeGuardPage<T> p(rows * terms), q(columns * terms), c(rows * columns),
        scratch(norma::kernels::gemm_scratch<T>(rows, columns, terms, {}));
    p.fill([](Index i) { return i % 7 - 3; });
    q.fill([](Index i) { return i % 5 - 2; });
    for (const Write write : {Write::assign, Write::add})
      norma::kernels::gemm<T>(norma::kernels::plain(norma::MatrixView<const T>{p.data(), rows, terms}),
                              norma::kernels::transposed(norma::MatrixView<const T>{q.data(), columns, terms}),
                              norma::MatrixView<T>{c.data(), rows, columns}, write, scratch.data());
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < columns; ++j) {
        Index sum = 0;
        for (Index t = 0; t < terms; ++t) sum += ((i * terms + t) % 7 - 3) * ((j * terms + t) % 5 - 2);
        ASSERT_EQ(c[i * columns + j], static_cast<T>(2 * sum));
      }
  }
}

TEST(CasesE, E03_TailsOfOtherKernels) {
  for (Index n = 1; n <= 67; ++n) {
    check_other_tails<float>(n);
    check_other_tails<double>(n);
  }
}

}  // namespace
