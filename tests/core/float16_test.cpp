// SPDX-License-Identifier: MIT
#include <norma/core/float16.hpp>

#include <gtest/gtest.h>

#include "kernel_float16.hpp"

namespace {

using namespace norma_test;
using norma::bfloat16;
using norma::half;

template <class S>
struct Float16 : testing::Test {};
using Types = testing::Types<bfloat16, half>;
TYPED_TEST_SUITE(Float16, Types);

static_assert(sizeof(half) == 2 && sizeof(bfloat16) == 2 && std::is_trivially_copyable_v<half>);
static_assert(half(1.5f).bits == 0x3E00 && static_cast<float>(bfloat16::from_bits(0xC000)) == -2);

TYPED_TEST(Float16, EveryPatternRoundTrips) {
  using S = TypeParam;
  for (unsigned pattern = 0; pattern < 0x10000; ++pattern) {
    const S v = S::from_bits(static_cast<std::uint16_t>(pattern));
    const S back(static_cast<float>(v)), wide(static_cast<double>(v));
    if (Layout16<S>::is_nan(pattern)) {  // and stays of its sign
      EXPECT_TRUE(std::isnan(static_cast<float>(v)) && std::isnan(static_cast<double>(v))) << pattern;
      EXPECT_TRUE(Layout16<S>::is_nan(back.bits) && back.bits >> 15 == pattern >> 15) << pattern;
    } else {
      EXPECT_EQ(back.bits, pattern);
      EXPECT_EQ(wide.bits, pattern);
      EXPECT_EQ(static_cast<double>(v), Layout16<S>::value(pattern)) << pattern;
    }
  }
}

TYPED_TEST(Float16, RoundsToNearestEven) {
  using S = TypeParam;
  for_floats_near<S>([](float v) { EXPECT_EQ(S(v).bits, Layout16<S>::nearest(v)) << v; });
}

TYPED_TEST(Float16, NaNStaysNaN) {
  using S = TypeParam;
  for (const std::uint32_t payload : {1u, 0x1000u, 0x2000u, 0xFFFFu, 0x10000u, 0x400000u, 0x7FFFFFu})
    for (const std::uint32_t sign : {0u, 0x80000000u}) {
      const S v(std::bit_cast<float>(sign | 0x7F800000u | payload));
      EXPECT_TRUE(Layout16<S>::is_nan(v.bits) && v.bits >> 15 == sign >> 31) << payload;
    }
}

TEST(CasesK, K10_Conversion) {
  const auto from = [](std::uint16_t bits) { return static_cast<float>(half::from_bits(bits)); };
  EXPECT_EQ(from(0x0001), 5.9604645e-8f);
  EXPECT_EQ(from(0x03FF), 6.0975552e-5f);
  EXPECT_EQ(from(0x0400), 6.1035156e-5f);
  EXPECT_EQ(from(0x7C00), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(from(0x7E00)));
  EXPECT_EQ(bfloat16(std::bit_cast<float>(0x3F818001u)).bits, 0x3F82);
  EXPECT_EQ(bfloat16(std::bit_cast<float>(0x7F800001u)).bits, 0x7FC0);
}

TEST(Half, Limits) {
  EXPECT_EQ(half(65504.0f).bits, 0x7BFF);
  EXPECT_EQ(half(std::nextafter(65520.0f, 0.0f)).bits, 0x7BFF);
  EXPECT_EQ(half(65520.0f).bits, 0x7C00);
  EXPECT_EQ(half(-1e30f).bits, 0xFC00);
  EXPECT_EQ(half(0x1p-25f).bits, 0);  // a tie: to even
  EXPECT_EQ(half(0x1.000002p-25f).bits, 1);
  EXPECT_EQ(half(0x1.8p-24f).bits, 2);
  EXPECT_EQ(half(-1e-30f).bits, 0x8000);
}

#if defined(__FLT16_MAX__)
TEST(Half, EqualsTheCompilers) {
  for_floats_near<half>([](float v) { EXPECT_EQ(half(v).bits, std::bit_cast<std::uint16_t>(_Float16(v))) << v; });
}
#endif

}  // namespace
