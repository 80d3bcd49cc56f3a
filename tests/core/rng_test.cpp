// SPDX-License-Identifier: MIT
#include <cmath>
#include <norma/core/rng.hpp>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using Words = std::array<std::uint32_t, 4>;

// The known answers of Random123 (kat_vectors, philox4x32 10).
static_assert(norma::philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(norma::philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(norma::philox({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(norma::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// Counter and key as documented: index, stream, seed, low word first. A uniform number is the first two words.
TEST(Rng, IsPhiloxOfIndexStreamAndSeed) {
  const std::uint64_t seed = 0x0123456789abcdef, stream = 0x1122334455667788, index = 0x99aabbccddeeff00;
  const Words w = norma::philox({0xddeeff00, 0x99aabbcc, 0x55667788, 0x11223344}, {0x89abcdef, 0x01234567});
  const double expected = (std::floor(w[0] * 0x1p20 + (w[1] >> 12)) + 0.5) * 0x1p-52;
  EXPECT_EQ(norma::Rng(seed, stream).uniform(index), expected);
  // A normal one is Box-Muller of all four.
  const double angle = (std::floor(w[2] * 0x1p20 + (w[3] >> 12)) + 0.5) * 0x1p-52;
  const double normal = std::sqrt(-2 * std::log(expected)) * std::cos(2 * std::acos(-1.0) * angle);
  EXPECT_NEAR(norma::Rng(seed, stream).normal(index), normal, 1e-14);
}

TEST(Rng, UniformIsTheMiddleOfACellAndNeverAnEnd) {
  double lowest = 1, highest = 0, sum = 0, squares = 0;
  const int n = 200000;
  for (int i = 0; i < n; ++i) {
    const double u = norma::Rng(7).uniform(static_cast<std::uint64_t>(i)), cell = std::ldexp(u, 53);
    ASSERT_GT(u, 0);
    ASSERT_LT(u, 1);
    ASSERT_EQ(std::fmod(cell, 2), 1) << u;  // odd: k + 1/2 in units of 2^-52, so neither 0 nor 1 can come
    lowest = std::min(lowest, u);
    highest = std::max(highest, u);
    sum += u;
    squares += u * u;
  }
  EXPECT_LT(lowest, 1e-4);
  EXPECT_GT(highest, 1 - 1e-4);
  EXPECT_NEAR(sum / n, 0.5, 5 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(squares / n, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / n));
}

TEST(Rng, NormalMoments) {
  const int n = 400000;
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0, lag = 0, last = 0, largest = 0;
  for (int i = 0; i < n; ++i) {
    const double z = norma::Rng(11).normal(static_cast<std::uint64_t>(i));
    ASSERT_TRUE(std::isfinite(z));
    m1 += z / n;
    m2 += z * z / n;
    m3 += z * z * z / n;
    m4 += z * z * z * z / n;
    lag += z * last / n;
    last = z;
    largest = std::max(largest, std::fabs(z));
  }
  const double s = 5 / std::sqrt(n);
  EXPECT_NEAR(m1, 0, s);
  EXPECT_NEAR(m2, 1, s * std::sqrt(2));
  EXPECT_NEAR(m3, 0, s * std::sqrt(15));
  EXPECT_NEAR(m4, 3, s * std::sqrt(96));
  EXPECT_NEAR(lag, 0, s);
  EXPECT_GT(largest, 4);  // it has tails
}

TEST(Rng, DoesNotDependOnTheOrderOfAsking) {
  const norma::Rng rng(3);
  std::vector<double> forward, backward(100);
  for (std::uint64_t i = 0; i < 100; ++i) forward.push_back(rng.normal(i));
  for (std::uint64_t i = 100; i-- > 0;) backward[i] = rng.normal(i);
  EXPECT_EQ(forward, backward);
}

double correlation(const norma::Rng& a, const norma::Rng& b) {
  double sum = 0;
  const int n = 20000;
  for (int i = 0; i < n; ++i) sum += a.normal(static_cast<std::uint64_t>(i)) * b.normal(static_cast<std::uint64_t>(i));
  return sum / n;
}

TEST(Rng, SeedsAndStreamsAreIndependent) {
  const norma::Rng rng(42);
  const double bound = 5 / std::sqrt(20000);
  EXPECT_GT(correlation(rng, rng), 0.9);  // the measure works
  EXPECT_LT(std::fabs(correlation(rng, norma::Rng(43))), bound);
  EXPECT_LT(std::fabs(correlation(rng, norma::Rng(42 + (std::uint64_t{1} << 32)))), bound);
  EXPECT_LT(std::fabs(correlation(rng, rng.stream("a"))), bound);
  EXPECT_LT(std::fabs(correlation(rng.stream("a"), rng.stream("b"))), bound);
  EXPECT_LT(std::fabs(correlation(rng.stream("layers.0.w"), rng.stream("layers.1.w"))), bound);
  EXPECT_LT(std::fabs(correlation(rng, rng.substream(1))), bound);
  EXPECT_LT(std::fabs(correlation(rng.substream(1), rng.substream(2))), bound);
  EXPECT_EQ(rng.stream("a").normal(5), norma::Rng(42).stream("a").normal(5));
}

// Streams of streams: no two paths of names and numbers may meet, in whatever order and however often a name comes.
TEST(Rng, NestedStreamsDiffer) {
  const norma::Rng rng(42);
  const std::vector<norma::Rng> all = {rng,
                                       rng.stream("a"),
                                       rng.stream("b"),
                                       rng.stream("ab"),
                                       rng.stream("a").stream("a"),
                                       rng.stream("a").stream("b"),
                                       rng.stream("b").stream("a"),
                                       rng.stream("a").stream("a").stream("a"),
                                       rng.substream(1),
                                       rng.substream(2),
                                       rng.substream(3),
                                       rng.substream(1).substream(1),
                                       rng.substream(1).substream(2),
                                       rng.substream(2).substream(1),
                                       rng.substream(1).stream("a"),
                                       rng.stream("a").substream(1)};
  std::set<double> first;
  for (const auto& r : all) first.insert(r.uniform(0));
  EXPECT_EQ(first.size(), all.size());
}

TEST(Rng, TheWholeIndexCounts) {
  const norma::Rng rng(1);
  EXPECT_NE(rng.uniform(0), rng.uniform(std::uint64_t{1} << 32));
  EXPECT_NE(rng.uniform(0), rng.uniform(1));
}

}  // namespace
