// SPDX-License-Identifier: MIT
#include <norma/kernels/simd_memory.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include "kernel_memory.hpp"

namespace {

using namespace norma_test;
namespace simd = norma::simd;

template <class T>
struct Simd : testing::Test {
  static constexpr Index kLanes = simd::kLanes<T>;
  static T lane(simd::Pack<T> p, Index i) {
    T lanes[static_cast<std::size_t>(kLanes)];
    simd::store(lanes, p);
    return lanes[i];
  }
  static simd::Pack<T> pack(const T* p) { return simd::load(p); }
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Simd, Scalars);

TYPED_TEST(Simd, LoadAndStoreAtAnyAddress) {
  using T = TypeParam;
  constexpr Index n = simd::kLanes<T>;
  for (Index offset = 0; offset <= n; ++offset) {
    Guarded<T> from(1, n, offset), to(1, n, (offset + 1) % 16);
    from.fill([](Index, Index i) { return 1.5 + static_cast<double>(i); });
    simd::store(to.data(), simd::load(from.data()));
    EXPECT_TRUE(same_bits(from.data(), to.data(), n));
    EXPECT_TRUE(to.intact());
  }
}

TYPED_TEST(Simd, PartOfAPack) {
  using T = TypeParam;
  constexpr Index n = simd::kLanes<T>;
  for (Index count = 0; count <= n; ++count)
    for (Index offset = 0; offset <= n; ++offset) {
      Guarded<T> from(1, count, offset), to(1, count, (offset + 3) % 16), wide(1, n);
      from.fill([](Index, Index i) { return -2.25 + static_cast<double>(i); });
      const auto p = simd::first(simd::load_first(from.data(), count), count, T(7));
      for (Index i = 0; i < n; ++i) EXPECT_EQ(this->lane(p, i), i < count ? from(0, i) : T(7)) << count << " " << i;
      const auto q = simd::load_first(from.data(), count);
      for (Index i = count; i < n; ++i) EXPECT_EQ(bits(this->lane(q, i)), bits(T(0)));
      simd::store_first(to.data(), p, count);
      EXPECT_TRUE(same_bits(from.data(), to.data(), count));
      EXPECT_TRUE(to.intact()) << count;
      const auto r = simd::first(simd::load_up_to(from.data(), count), count, T(7));
      EXPECT_EQ(this->lane(r, n - 1), count == n ? from(0, n - 1) : T(7));
      simd::store_up_to(to.data(), r, count);
      EXPECT_TRUE(to.intact()) << count;
    }
}

TYPED_TEST(Simd, BroadcastKeepsEveryBit) {
  using T = TypeParam;
  const T values[] = {T(0), -T(0), T(1), std::numeric_limits<T>::denorm_min(), -std::numeric_limits<T>::infinity()};
  for (const T v : values)
    for (Index i = 0; i < simd::kLanes<T>; ++i) EXPECT_EQ(bits(this->lane(simd::broadcast(v), i)), bits(v)) << v;
  for (Index i = 0; i < simd::kLanes<T>; ++i) EXPECT_EQ(bits(this->lane(simd::zero<T>(), i)), bits(T(0)));
}

TYPED_TEST(Simd, Arithmetic) {
  using T = TypeParam;
  constexpr Index n = simd::kLanes<T>;
  Random random(4);
  Guarded<T> a(1, n), b(1, n), c(1, n);
  for (int round = 0; round < 50; ++round) {
    for (auto* m : {&a, &b, &c}) m->fill([&](Index, Index) { return random.normal(); });
    const auto pa = simd::load(a.data()), pb = simd::load(b.data()), pc = simd::load(c.data());
    for (Index i = 0; i < n; ++i) {
      const T x = a(0, i), y = b(0, i), z = c(0, i);
      EXPECT_EQ(this->lane(pa + pb, i), x + y);
      EXPECT_EQ(this->lane(pa - pb, i), x - y);
      EXPECT_EQ(this->lane(pa * pb, i), x * y);
      EXPECT_EQ(this->lane(simd::maximum(pa, pb), i), x > y ? x : y);
      EXPECT_EQ(bits(this->lane(simd::keep(pa), i)), bits(x));
      // The scalar fma rounds as the pack does.
      EXPECT_EQ(bits(this->lane(simd::fma(pa, pb, pc), i)), bits(simd::fma(x, y, z)));
    }
  }
}

// (1 + u)^2 - (1 + 2u) is u^2 with one rounding, 0 with two.
TYPED_TEST(Simd, FmaRoundsOnceWhereTheInstructionSetCan) {
  using T = TypeParam;
  const T u = std::numeric_limits<T>::epsilon(), x = 1 + u, z = -(1 + 2 * u);
#if defined(NORMA_HAS_FMA)
  const T right = u * u;
#else
  const T right = 0;
#endif
  EXPECT_EQ(simd::fma(x, x, z), right);
  EXPECT_EQ(this->lane(simd::fma(simd::broadcast(x), simd::broadcast(x), simd::broadcast(z)), simd::kLanes<T> - 1),
            right);
}

/// Halves added to halves.
template <class T>
T tree_sum(const T* p, Index n) {
  if (n == 1) return p[0];
  std::vector<T> half(static_cast<std::size_t>(n / 2));
  for (Index i = 0; i < n / 2; ++i) half[static_cast<std::size_t>(i)] = p[i] + p[i + n / 2];
  return tree_sum(half.data(), n / 2);
}

TYPED_TEST(Simd, ReduceAddHasOneOrder) {
  using T = TypeParam;
  constexpr Index n = simd::kLanes<T>;
  Random random(8);
  for (int round = 0; round < 200; ++round) {
    Guarded<T> a(1, n);
    a.fill([&](Index, Index) { return std::ldexp(random.normal(), static_cast<int>(random.next() % 30)); });
    EXPECT_EQ(bits(simd::reduce_add(simd::load(a.data()))), bits(tree_sum(a.data(), n)));
  }
}

// Sums that float loses: 2^24 + 1 + 1 + ...
TYPED_TEST(Simd, WideSumAddsInDouble) {
  using T = TypeParam;
  constexpr Index n = simd::kLanes<T>;
  simd::WideSum<T> sum;
  Guarded<T> big(1, n);
  big.fill([](Index, Index i) { return 16777216.0 * static_cast<double>(i + 1); });
  sum.add(simd::load(big.data()));
  for (int i = 0; i < 3; ++i) sum.add(simd::broadcast(T(1)));
  const double lanes = static_cast<double>(n);
  EXPECT_EQ(sum.total(), 16777216.0 * lanes * (lanes + 1) / 2 + 3 * lanes);
}

TYPED_TEST(Simd, ForEachPackCoversAllOnce) {
  using T = TypeParam;
  constexpr Index n = simd::kLanes<T>;
  for (Index width = 0; width <= 3 * n + 1; ++width) {
    Index next = 0;
    simd::for_each_pack<T>(width, [&](Index i, Index count) {
      EXPECT_EQ(i, next);
      EXPECT_TRUE(count == n || (count < n && count > 0 && i + count == width));
      next = i + count;
    });
    EXPECT_EQ(next, width);
  }
}

TEST(SimdScalar, IsFiniteAndIsNan) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double v : {0.0, -0.0, 1.0, -1e308, 5e-324, std::numeric_limits<double>::max()})
    EXPECT_TRUE(simd::is_finite(v)) << v;
  for (const double v : {infinity, -infinity, std::nan(""), -std::nan("1")}) EXPECT_FALSE(simd::is_finite(v)) << v;
  for (const double v : {std::nan(""), -std::nan("1")}) EXPECT_TRUE(simd::is_nan(v)) << v;
  for (const double v : {0.0, -1.0, 1e308, infinity, -infinity}) EXPECT_FALSE(simd::is_nan(v)) << v;
}

}  // namespace
