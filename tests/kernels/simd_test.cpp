// SPDX-License-Identifier: MIT
#include <norma/kernels/simd_math.hpp>
#include <norma/kernels/simd_memory.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "kernel_float16.hpp"
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
TYPED_TEST(Simd, ReduceMaximumFindsEveryLane) {
  using T = TypeParam;
  constexpr Index n = simd::kLanes<T>;
  for (Index at = 0; at < n; ++at) {
    Guarded<T> lanes(1, n);
    lanes.fill([&](Index, Index i) { return i == at ? -0.5 : -1.0 - static_cast<double>(i); });
    EXPECT_EQ(simd::reduce_maximum(simd::load(lanes.data())), T(-0.5)) << at;
  }
}

TYPED_TEST(Simd, ChooseByBits) {
  using T = TypeParam;
  constexpr Index n = simd::kLanes<T>;
  const T infinity = std::numeric_limits<T>::infinity();
  Guarded<T> lanes(1, n);
  lanes.fill([](Index, Index i) { return i == 1 ? std::nan("") : 3.0 + static_cast<double>(i); });
  for (Index b = 0; b < n; ++b)
    for (const std::uint64_t pattern : {std::uint64_t(0), ~std::uint64_t(0), std::uint64_t(1) << b,
                                        ~(std::uint64_t(1) << b), std::uint64_t(0x5555555555555555u) << b})
      for (Index i = 0; i < n; ++i)
        EXPECT_EQ(bits(this->lane(simd::choose(pattern, simd::load(lanes.data()), -infinity), i)),
                  bits((pattern >> i & 1) != 0 ? lanes(0, i) : -infinity));
}

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

/// 16-bit values in memory, floats in registers.
template <class S>
struct SimdStorage : testing::Test {
  static constexpr Index kLanes = simd::kLanesOf<S>;
  using Floats = std::array<float, static_cast<std::size_t>(kLanes)>;
  static Floats lanes(simd::Pack<float> p) {
    Floats to;
    simd::store(to.data(), p);
    return to;
  }
};
using Storage16 = testing::Types<norma::bfloat16, norma::half>;
TYPED_TEST_SUITE(SimdStorage, Storage16);

TYPED_TEST(SimdStorage, PartOfAPackAtAnyAddress) {
  using S = TypeParam;
  constexpr Index n = simd::kLanesOf<S>;
  for (Index count = 0; count <= n; ++count)
    for (Index offset = 0; offset <= 32; ++offset) {
      Guarded<S> from(1, count, offset), to(1, count, (offset + 3) % 16), up_to(1, count, offset);
      from.fill([](Index, Index i) { return -2.25 + static_cast<double>(i); });
      const auto p = simd::load_first(from.data(), count);
      const auto filled = this->lanes(simd::first(p, count, 7.0f)), zeros = this->lanes(p),
                 same = this->lanes(simd::load_up_to(from.data(), count));
      for (Index i = 0; i < n; ++i) {
        const auto k = static_cast<std::size_t>(i);
        EXPECT_EQ(filled[k], i < count ? static_cast<float>(from(0, i)) : 7.0f) << count << " " << i;
        EXPECT_EQ(bits(zeros[k]), i < count ? bits(static_cast<float>(from(0, i))) : 0) << count << " " << i;
        EXPECT_EQ(bits(same[k]), bits(zeros[k])) << count << " " << i;
      }
      simd::store_first(to.data(), p, count);
      simd::store_up_to(up_to.data(), p, count);
      EXPECT_TRUE(same_bits(from.data(), to.data(), count) && same_bits(from.data(), up_to.data(), count)) << count;
      EXPECT_TRUE(to.intact() && up_to.intact()) << count;
      if (count < n) continue;
      Guarded<S> whole(1, n, offset);
      simd::store(whole.data(), simd::load(from.data()));
      EXPECT_TRUE(same_bits(from.data(), whole.data(), n) && whole.intact());
    }
}

TYPED_TEST(SimdStorage, LoadsEveryPattern) {
  using S = TypeParam;
  constexpr Index n = simd::kLanesOf<S>;
  Guarded<S> from(1, n);
  for (unsigned pattern = 0; pattern < 0x10000; pattern += static_cast<unsigned>(n)) {
    for (Index i = 0; i < n; ++i) from(0, i) = S::from_bits(static_cast<std::uint16_t>(pattern + i));
    const auto given = this->lanes(simd::load(from.data()));
    for (Index i = 0; i < n; ++i)
      EXPECT_EQ(bits(given[static_cast<std::size_t>(i)]), bits(static_cast<float>(from(0, i)))) << pattern + i;
  }
}

// Every way to store rounds as the scalar conversion does, and rounded() gives what load() then finds.
TYPED_TEST(SimdStorage, RoundsAsTheScalar) {
  using S = TypeParam;
  constexpr Index n = simd::kLanesOf<S>;
  std::vector<float> values;
  for_floats_near<S>([&](float v) { values.push_back(v); });
  for (const std::uint32_t payload : {1u, 0x1000u, 0x2000u, 0xFFFFu, 0x10000u, 0x400000u, 0x7FFFFFu})
    for (const std::uint32_t sign : {0u, 0x80000000u})
      values.push_back(std::bit_cast<float>(sign | 0x7F800000u | payload));
  Random random(3);
  for (int i = 0; i < 100000 || static_cast<Index>(values.size()) % n != 0; ++i)
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random.next())));
  Guarded<S> right(1, n), stored(1, n, 1), part(1, n, 2), streamed(1, n);
  for (std::size_t at = 0; at < values.size(); at += static_cast<std::size_t>(n)) {
    const auto p = simd::load(values.data() + at);
    for (Index i = 0; i < n; ++i) right(0, i) = S(values[at + static_cast<std::size_t>(i)]);
    simd::store(stored.data(), p);
    simd::store_first(part.data(), p, n - 1);
    simd::stream(streamed.data(), p);
    simd::stream_fence();
    Guarded<float> rounded(1, n), loaded(1, n);
    simd::store(rounded.data(), simd::rounded<S>(p));
    simd::store(loaded.data(), simd::load(right.data()));
    ASSERT_TRUE(same_bits(stored.data(), right.data(), n) && same_bits(part.data(), right.data(), n - 1) &&
                same_bits(streamed.data(), right.data(), n) && same_bits(rounded.data(), loaded.data(), n))
        << values[at] << " and those after it";
  }
  EXPECT_TRUE(stored.intact() && part.intact() && streamed.intact());
}

template <class S>
struct SimdStream : testing::Test {};
using StreamTypes = testing::Types<float, double, norma::bfloat16, norma::half>;
TYPED_TEST_SUITE(SimdStream, StreamTypes);

// Rows as the kernels write them: up to the first address that streams, packs from there on, and a rest.
TYPED_TEST(SimdStream, HeadPacksAndTail) {
  using S = TypeParam;
  using T = norma::Compute<S>;
  constexpr Index n = simd::kLanesOf<S>;
  for (Index width = 0; width <= 3 * n + 1; ++width)
    for (Index offset = 0; offset <= 32; ++offset) {
      Guarded<S> from(1, width, 1), to(1, width, offset);
      from.fill([](Index, Index i) { return 0.5 * static_cast<double>(i) - 3; });
      const Index head = simd::elements_to_stream(to.data());
      EXPECT_TRUE(head >= 0 && head < n);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(to.data() + head) % (n * static_cast<Index>(sizeof(S))), 0u);
      Index written = 0, streamed = 0;
      simd::for_each_pack_after<T>(head, width, [&](Index i, Index k) {
        written += k;
        const auto p = simd::load_up_to(from.data() + i, k);
        if (k == n)
          simd::stream(to.data() + i, p), ++streamed;
        else
          simd::store_up_to(to.data() + i, p, k);
      });
      simd::stream_fence();
      EXPECT_EQ(written, width);
      EXPECT_EQ(streamed, head >= width ? 0 : (width - head) / n);
      EXPECT_TRUE(same_bits(from.data(), to.data(), width) && to.intact()) << width << " at " << offset;
    }
}

}  // namespace
