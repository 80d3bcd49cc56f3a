// SPDX-License-Identifier: MIT
#include <norma/kernels/cross_entropy.hpp>

#include <gtest/gtest.h>

#include "kernel_memory.hpp"

namespace {

using namespace norma_test;
using norma::kernels::cross_entropy;
using norma::kernels::cross_entropy_backward;

template <class T>
struct CrossEntropy : testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(CrossEntropy, Scalars);

template <class T>
void check(Index classes, double level, double spread) {
  Random random(static_cast<std::uint64_t>(classes));
  Guarded<T> z(1, classes, classes % 3);
  z.fill([&](Index, Index) { return level + spread * random.normal(); });
  const Index target = classes / 2;
  long double maximum = z(0, 0), sum = 0;
  for (Index i = 0; i < classes; ++i) maximum = std::max<long double>(maximum, z(0, i));
  for (Index i = 0; i < classes; ++i) sum += std::exp(static_cast<long double>(z(0, i)) - maximum);
  const long double log_sum = maximum + std::log(sum);
  const Guarded<T> before = z;
  T lse = 0;
  const double loss = cross_entropy(z.data(), classes, target, lse);
  EXPECT_TRUE(same_bits(z.data(), before.data(), classes)) << "forward leaves the logits alone";
  const double size = static_cast<double>(std::fabs(log_sum)) + std::fabs(level) + 4 * spread;
  EXPECT_NEAR(loss, static_cast<double>(log_sum - static_cast<long double>(z(0, target))), 4 * 0x1p-52 * size);
  EXPECT_NEAR(static_cast<double>(lse), static_cast<double>(log_sum), kUnit<T> * size);
  const T factor = T(0.125);
  cross_entropy_backward(z.data(), classes, target, lse, factor);
  EXPECT_TRUE(z.intact());
  double total = 0;
  for (Index i = 0; i < classes; ++i) {
    const double p = static_cast<double>(std::exp(static_cast<long double>(before(0, i)) - log_sum));
    // The rounding of lse and of z - lse shows in the exponential.
    EXPECT_NEAR(static_cast<double>(z(0, i)), 0.125 * (p - (i == target ? 1 : 0)),
                0.125 * kUnit<T> * (2 + p * 2 * size));
    total += static_cast<double>(z(0, i));
  }
  EXPECT_NEAR(total, 0, 0.125 * kUnit<T> * (2 * size + std::sqrt(static_cast<double>(classes))));
}

TYPED_TEST(CrossEntropy, AgainstLongDouble) {
  for (const Index classes : {1, 2, 3, 7, 16, 64, 65, 256, 1000})
    for (const double level : {0.0, -500.0, 1000.0})
      for (const double spread : {0.02, 1.0, 20.0}) check<TypeParam>(classes, level, spread);
}

TYPED_TEST(CrossEntropy, UniformLogits) {
  using T = TypeParam;
  std::vector<T> z(256, T(3));
  T lse = 0;
  EXPECT_NEAR(cross_entropy(z.data(), 256, 17, lse), std::log(256.0), 1e-12);
}

TYPED_TEST(CrossEntropy, NanIsNeverSwallowed) {
  using T = TypeParam;
  for (Index at = 0; at < 5; ++at)
    for (const T other : {T(1), -std::numeric_limits<T>::infinity()}) {
      std::vector<T> z(5, other);
      z[static_cast<std::size_t>(at)] = std::numeric_limits<T>::quiet_NaN();
      T lse = 0;
      EXPECT_TRUE(std::isnan(cross_entropy(z.data(), 5, 0, lse)));
      cross_entropy_backward(z.data(), 5, 0, lse, T(1));
      for (const T d : z) EXPECT_TRUE(std::isnan(d));
    }
}

}  // namespace
