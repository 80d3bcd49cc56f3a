// SPDX-License-Identifier: MIT
#include <norma/kernels/gemm.hpp>

#include <gtest/gtest.h>

#include "kernel_memory.hpp"

namespace {

using namespace norma_test;
using norma::Write;
using norma::kernels::gemm;
using norma::kernels::gemm_scratch;
using norma::kernels::Operand;
namespace detail = norma::kernels::detail;

struct Case {
  Index m, n, k;
  bool a_transposed = false, b_transposed = false;
  Write write = Write::assign;
  Index offset = 0, gap = 0;
};

/// A product of random matrices, with what it was made from.
template <class T>
struct Product {
  Guarded<T> a, b, c, before, scratch;

  explicit Product(const Case& s)
      : a(s.a_transposed ? s.k : s.m, s.a_transposed ? s.m : s.k, s.offset, s.gap),
        b(s.b_transposed ? s.n : s.k, s.b_transposed ? s.k : s.n, (s.offset + 1) % 16, s.gap),
        c(s.m, s.n, (s.offset + 2) % 16, s.gap),
        before(c),
        scratch(1, gemm_scratch<T>(s.m, s.n, s.k)) {
    Random random(static_cast<std::uint64_t>(s.m * 10007 + s.n * 101 + s.k));
    const auto noise = [&](Index, Index) { return random.normal(); };
    a.fill(noise), b.fill(noise);
    if (s.write == Write::add) c.fill(noise);
    before = c;
    multiply(s);
  }
  void multiply(const Case& s) {
    gemm<T>(s.a_transposed ? norma::kernels::transposed(a.in()) : norma::kernels::plain(a.in()),
            s.b_transposed ? norma::kernels::transposed(b.in()) : norma::kernels::plain(b.in()), c.view(), s.write,
            scratch.data());
  }
  T a_at(const Case& s, Index i, Index p) const { return s.a_transposed ? a(p, i) : a(i, p); }
  T b_at(const Case& s, Index p, Index j) const { return s.b_transposed ? b(j, p) : b(p, j); }
};

/// The chain that gemm promises, to the last bit.
template <class T>
T chain(const Product<T>& p, const Case& s, Index i, Index j) {
  T sum = s.write == Write::add ? p.before(i, j) : T(0);
  for (Index q = 0; q < s.k; ++q) sum = norma::simd::fma(p.a_at(s, i, q), p.b_at(s, q, j), sum);
  return sum;
}

/// Elements at steps: all where the steps are 1. The error is compared with sum |a b|: k + 1 roundings of half a unit
/// at most.
template <class T>
void check(const Case& s, Index row_step = 1, Index column_step = 1) {
  const Product<T> p(s);
  const auto message = [&] {
    return testing::Message() << s.m << " x " << s.n << " x " << s.k << " transposed " << s.a_transposed
                              << s.b_transposed << " add " << (s.write == Write::add) << " gap " << s.gap;
  };
  ASSERT_TRUE(p.a.intact() && p.b.intact() && p.c.intact() && p.scratch.intact()) << message();
  double worst = 0;
  for (Index i = 0; i < s.m; i += row_step)
    for (Index j = 0; j < s.n; j += column_step) {
      ASSERT_EQ(bits(p.c(i, j)), bits(chain(p, s, i, j))) << message() << " at " << i << ", " << j;
      long double sum = s.write == Write::add ? p.before(i, j) : 0, size = std::fabs(sum);
      for (Index q = 0; q < s.k; ++q) {
        const long double term = static_cast<long double>(p.a_at(s, i, q)) * static_cast<long double>(p.b_at(s, q, j));
        sum += term;
        size += std::fabs(term);
      }
      const double bound = kUnit<T> / 2 * static_cast<double>(s.k + 2) * static_cast<double>(size);
      const double error = std::fabs(static_cast<double>(static_cast<long double>(p.c(i, j)) - sum));
      worst = std::max(worst, bound > 0 ? error / bound : error);
    }
  EXPECT_LE(worst, 1) << message();
}

template <class T>
struct Gemm : testing::Test {
  static void every_form(Index m, Index n, Index k) {
    for (const bool a : {false, true})
      for (const bool b : {false, true})
        for (const Write w : {Write::assign, Write::add}) check<T>({m, n, k, a, b, w, (m + n) % 5, (n + k) % 3});
  }
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Gemm, Scalars);

TYPED_TEST(Gemm, EverySmallSize) {
  for (Index m = 1; m <= 20; ++m)
    for (Index n = 1; n <= 20; ++n)
      for (Index k = 1; k <= 20; k += (m + n) % 3 + 1) this->every_form(m, n, k);
}

TYPED_TEST(Gemm, AroundTiles) {
  const Index rows = detail::kTileRows, columns = detail::kTileColumns<TypeParam>;
  for (const Index m : {rows - 1, rows, rows + 1, 2 * rows, 2 * rows + 1})
    for (const Index n : {columns - 1, columns, columns + 1, 2 * columns, 2 * columns + 1})
      for (const Index k : {1, 3, 17}) this->every_form(m, n, k);
}

TYPED_TEST(Gemm, AroundBlocks) {
  const Index k0 = detail::kBlockK, m0 = detail::kBlockRows;
  for (const Index k : {k0 - 1, k0, k0 + 1, 2 * k0 + 3}) this->every_form(5, 9, k);
  for (const Index m : {m0 - 1, m0, m0 + 1, 2 * m0 + 1}) this->every_form(m, 3, 6);
  check<TypeParam>({m0 + 3, 5, k0 + 7, false, true, Write::add, 1, 1}, 13, 37);
  check<TypeParam>({m0 + 3, 101, k0 + 7, true, false, Write::assign, 1, 1}, 13, 37);
}

// A bias is where chains start: the same bits as a product added to rows that hold it.
TYPED_TEST(Gemm, StartsFromABias) {
  using T = TypeParam;
  const norma::Executor two{2, [](void*, Index count, void (*task)(void*, Index), void* data) {
                              for (Index i = count; i-- > 0;) task(data, i);
                            }};
  for (const Case& s : {Case{3, 5, 0, false, true}, Case{3, 70, 9, false, true}, Case{70, 3, 9, false, true},
                        Case{17, 101, detail::kBlockK + 5, false, true}}) {
    Product<T> p(s);
    Guarded<T> bias(1, s.n), c(s.m, s.n, 1, 2), wanted(s.m, s.n);
    Random random(7);
    bias.fill([&](Index, Index) { return random.normal(); });
    wanted.fill([&](Index, Index j) { return bias(0, j); });
    const auto a = norma::kernels::plain(p.a.in());
    const auto b = norma::kernels::transposed(p.b.in());
    gemm<T>(a, b, wanted.view(), Write::add, p.scratch.data());
    const Index each = gemm_scratch<T>(s.m, s.n, s.k);
    Guarded<T> packing(2, each);
    for (const norma::Executor& executor : {norma::Executor{}, two}) {
      gemm<T>(executor, a, b, c.view(), Write::assign, packing.view(), bias.data());
      for (Index i = 0; i < s.m; ++i) EXPECT_TRUE(same_bits(c.row(i), wanted.row(i), s.n)) << i;
      EXPECT_TRUE(c.intact() && bias.intact());
    }
  }
}

TYPED_TEST(Gemm, EmptySizes) {
  using T = TypeParam;
  for (const Write write : {Write::assign, Write::add}) {
    check<T>({0, 5, 4, false, false, write});
    check<T>({5, 0, 4, false, false, write});
    const Case s{3, 4, 0, false, false, write, 1, 2};  // a sum of no terms
    const Product<T> p(s);
    EXPECT_TRUE(p.c.intact());
    for (Index i = 0; i < 3; ++i)
      for (Index j = 0; j < 4; ++j) EXPECT_EQ(p.c(i, j), write == Write::add ? p.before(i, j) : T(0));
  }
}

// One row alone, and one column alone, have the bits they have in the whole.
TYPED_TEST(Gemm, ElementsDoNotDependOnTheirNeighbours) {
  using T = TypeParam;
  for (const Index k : {1, 64, 300, 600}) {
    const Case s{150, 100, k, false, true};
    Product<T> p(s);
    for (const Index i : {0, 1, 7, 127, 128, 149}) {
      Guarded<T> c(1, s.n, 3);
      gemm<T>(norma::kernels::plain(p.a.in().middle_rows(i, 1)), norma::kernels::transposed(p.b.in()), c.view(),
              Write::assign, p.scratch.data());
      EXPECT_TRUE(same_bits(c.data(), p.c.row(i), s.n)) << "row " << i << " k " << k;
    }
    for (const Index j : {0, 1, 23, 24, 48, 99}) {
      Guarded<T> c(s.m, 1, 1, 2);
      gemm<T>(norma::kernels::plain(p.a.in()), norma::kernels::transposed(p.b.in().middle_rows(j, 1)), c.view(),
              Write::assign, p.scratch.data());
      for (Index i = 0; i < s.m; ++i) EXPECT_EQ(bits(c(i, 0)), bits(p.c(i, j))) << i << ", " << j << " k " << k;
    }
  }
}

// An edge tile is computed at full size: what lies in its unused part must not come out.
TYPED_TEST(Gemm, NanStaysInItsRowAndColumn) {
  using T = TypeParam;
  const Case s{13, 11, 5};
  Product<T> p(s);
  const Guarded<T> clean = p.c;
  p.a(6, 2) = std::numeric_limits<T>::quiet_NaN();
  p.b(3, 4) = std::numeric_limits<T>::infinity();
  p.multiply(s);
  for (Index i = 0; i < s.m; ++i)
    for (Index j = 0; j < s.n; ++j) {
      if (i == 6 || j == 4) {
        EXPECT_FALSE(std::isfinite(p.c(i, j)));
      } else {
        EXPECT_EQ(bits(p.c(i, j)), bits(clean(i, j)));
      }
    }
}

TEST(GemmScratch, GrowsWithEverySize) {
  const Index sizes[] = {0, 1, 3, 8, 24, 100, 128, 200, 256, 300, 1536, 2000};
  for (const Index a : sizes)
    for (const Index b : sizes)
      for (std::size_t i = 1; i < std::size(sizes); ++i) {
        EXPECT_LE(gemm_scratch<float>(sizes[i - 1], a, b), gemm_scratch<float>(sizes[i], a, b));
        EXPECT_LE(gemm_scratch<float>(a, sizes[i - 1], b), gemm_scratch<float>(a, sizes[i], b));
        EXPECT_LE(gemm_scratch<float>(a, b, sizes[i - 1]), gemm_scratch<float>(a, b, sizes[i]));
      }
}

}  // namespace
