// SPDX-License-Identifier: MIT
#include <norma/kernels/softmax.hpp>

#include <gtest/gtest.h>

#include "kernel_memory.hpp"

namespace {

using namespace norma_test;
using norma::kernels::row_maximum;
using norma::kernels::softmax;
using norma::kernels::softmax_backward;

template <class T>
struct Softmax : testing::Test {
  static constexpr T kInfinity = std::numeric_limits<T>::infinity();
  static constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Softmax, Scalars);

/// Scores around `level`, spread over `spread`.
template <class T>
void check(Index n, double level, double spread) {
  Random random(static_cast<std::uint64_t>(n));
  Guarded<T> s(1, n, n % 5), ds(1, n, 2), dp(1, n, 1);
  s.fill([&](Index, Index) { return level + spread * random.normal(); });
  dp.fill([&](Index, Index) { return random.normal(); });
  long double maximum = s(0, 0), sum = 0, inner = 0, size = 0;
  std::vector<long double> p;
  for (Index i = 0; i < n; ++i) maximum = std::max<long double>(maximum, s(0, i));
  for (Index i = 0; i < n; ++i) sum += p.emplace_back(std::exp(static_cast<long double>(s(0, i)) - maximum));
  for (Index i = 0; i < n; ++i) {
    p[static_cast<std::size_t>(i)] /= sum;
    inner += p[static_cast<std::size_t>(i)] * static_cast<long double>(dp(0, i));
    size += p[static_cast<std::size_t>(i)] * static_cast<long double>(std::fabs(dp(0, i)));
  }
  Guarded<T> q = s;
  const T lse = softmax(q.data(), n);
  softmax_backward(q.data(), dp.data(), ds.data(), n);
  EXPECT_TRUE(q.intact() && ds.intact());
  EXPECT_NEAR(static_cast<double>(lse), static_cast<double>(maximum + std::log(sum)),
              2 * kUnit<T> * (std::fabs(level) + spread + std::log(static_cast<double>(n))));
  double worst = 0, worst_ds = 0, total = 0;
  // The sum is in double, which helps float only.
  const double long_sum = sizeof(T) == 8 ? std::sqrt(static_cast<double>(n)) / 8 : 0;
  for (Index i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    // exp(s - max): the difference is rounded, so the relative error grows with it.
    const double far = static_cast<double>(maximum - static_cast<long double>(s(0, i)));
    const double step = std::numeric_limits<T>::denorm_min();
    const double bound = kUnit<T> * (3 + far + long_sum) * static_cast<double>(p[k]) + step;
    worst = std::max(worst, static_cast<double>(std::fabs(static_cast<long double>(q(0, i)) - p[k])) / bound);
    const double right = static_cast<double>(p[k] * (static_cast<long double>(dp(0, i)) - inner));
    const double size_ds = std::fabs(static_cast<double>(dp(0, i))) + static_cast<double>(size);
    const double bound_ds = (kUnit<T> * (4 + far + long_sum) * static_cast<double>(p[k]) + step) * size_ds + step;
    worst_ds = std::max(worst_ds, std::fabs(static_cast<double>(ds(0, i)) - right) / bound_ds);
    total += static_cast<double>(q(0, i));
  }
  EXPECT_LE(worst, 1) << n << " " << level << " " << spread;                              // measured: 0.8
  EXPECT_LE(worst_ds, 1) << n << " " << level << " " << spread;                           // measured: 0.8
  EXPECT_NEAR(total, 1, 2 * kUnit<T> * (1 + spread) + static_cast<double>(n) * 0x1p-53);  // the sum's own rounding
  Guarded<T> in_place = dp;
  softmax_backward(q.data(), in_place.data(), in_place.data(), n);
  EXPECT_TRUE(same_bits(in_place.data(), ds.data(), n));
}

TYPED_TEST(Softmax, AgainstLongDouble) {
  for (Index n = 1; n <= 67; ++n)
    for (const double level : {0.0, -1000.0, 8000.0})
      for (const double spread : {0.01, 1.0, 30.0}) check<TypeParam>(n, level, spread);
  check<TypeParam>(4096, 3, 5);
}

TYPED_TEST(Softmax, NothingToSeeGivesZeros) {
  using T = TypeParam;
  Guarded<T> s(1, 5), ds(1, 5), dp(1, 5);
  s.fill([](Index, Index) { return -std::numeric_limits<T>::infinity(); });
  dp.fill([](Index, Index i) { return i + 1; });
  EXPECT_EQ(softmax(s.data(), 5), -this->kInfinity);
  for (Index i = 0; i < 5; ++i) EXPECT_EQ(bits(s(0, i)), bits(T(0)));
  softmax_backward(s.data(), dp.data(), ds.data(), 5);
  for (Index i = 0; i < 5; ++i) EXPECT_EQ(ds(0, i), T(0));
  EXPECT_EQ(softmax(s.data(), 0), -this->kInfinity);
}

TYPED_TEST(Softmax, MinusInfinityIsOnlyAMask) {
  using T = TypeParam;
  T s[] = {-this->kInfinity, T(1), T(1), -this->kInfinity};
  softmax(s, 4);
  EXPECT_EQ(s[0], T(0));
  EXPECT_EQ(s[1], T(0.5));
  EXPECT_EQ(s[2], T(0.5));
  EXPECT_EQ(s[3], T(0));
}

// NaN wins wherever it stands, and whatever stands beside it: the row must not look fully masked.
TYPED_TEST(Softmax, NanIsNeverSwallowed) {
  using T = TypeParam;
  for (Index n = 1; n <= 9; ++n)
    for (Index at = 0; at < n; ++at)
      for (const T other : {T(3), -this->kInfinity, this->kInfinity}) {
        std::vector<T> s(static_cast<std::size_t>(n), other);
        s[static_cast<std::size_t>(at)] = this->kNan;
        EXPECT_TRUE(std::isnan(row_maximum(s.data(), n))) << n << " " << at << " " << other;
        EXPECT_TRUE(std::isnan(softmax(s.data(), n))) << n << " " << at << " " << other;
        for (const T p : s) EXPECT_TRUE(std::isnan(p)) << n << " " << at << " " << other;
      }
}

TYPED_TEST(Softmax, RowMaximum) {
  using T = TypeParam;
  for (Index n = 1; n <= 40; ++n)
    for (Index at = 0; at < n; ++at) {
      std::vector<T> s(static_cast<std::size_t>(n), T(-5));
      s[static_cast<std::size_t>(at)] = T(-4);
      EXPECT_EQ(row_maximum(s.data(), n), T(-4));
    }
}

}  // namespace
