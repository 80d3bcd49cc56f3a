// SPDX-License-Identifier: MIT
#include <norma/kernels/gemm.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <array>
#include <string>

#include "kernel_memory.hpp"
#include "own_product.hpp"

namespace {

using namespace norma_test;
using norma::Write;
using norma::kernels::gemm;
using norma::kernels::gemm_scratch;
using norma::kernels::kOwnProduct;
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
        scratch(1, gemm_scratch<T>(s.m, s.n, s.k, {.transposed_a = s.a_transposed})) {
    Random random(static_cast<std::uint64_t>(s.m * 10007 + s.n * 101 + s.k));
    const auto noise = [&](Index, Index) { return random.normal(); };
    a.fill(noise), b.fill(noise);
    if (s.write == Write::add) c.fill(noise);
    before = c;
    multiply(s);
  }
  void multiply(const Case& s) { gemm<T>(a_operand(s), b_operand(s), c.view(), s.write, scratch.data()); }
  Operand<T> a_operand(const Case& s) const {
    return s.a_transposed ? norma::kernels::transposed(a.in()) : norma::kernels::plain(a.in());
  }
  Operand<T> b_operand(const Case& s) const {
    return s.b_transposed ? norma::kernels::transposed(b.in()) : norma::kernels::plain(b.in());
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

std::string text(const Case& s) {
  return (testing::Message() << s.m << " x " << s.n << " x " << s.k << " transposed " << s.a_transposed
                             << s.b_transposed << " add " << (s.write == Write::add) << " gap " << s.gap)
      .GetString();
}

/// Elements at steps: all where the steps are 1. The error is compared with sum |a b|: k + 1 roundings of half a unit
/// at most, in whatever order.
template <class T>
void check(const Case& s, Index row_step = 1, Index column_step = 1) {
  using Wide = std::conditional_t<sizeof(T) == 4, double, long double>;  // that holds a product of two T
  const Product<T> p(s);
  ASSERT_TRUE(p.a.intact() && p.b.intact() && p.c.intact() && p.scratch.intact()) << text(s);
  for (Index i = 0; i < s.m; i += row_step)
    for (Index j = 0; j < s.n; j += column_step) {
      Wide sum = s.write == Write::add ? p.before(i, j) : 0, size = std::fabs(sum);
      for (Index q = 0; q < s.k; ++q) {
        const Wide term = Wide(p.a_at(s, i, q)) * Wide(p.b_at(s, q, j));
        sum += term;
        size += std::fabs(term);
      }
      const double bound = kUnit<T> / 2 * static_cast<double>(s.k + 2) * static_cast<double>(size);
      ASSERT_LE(static_cast<double>(std::fabs(Wide(p.c(i, j)) - sum)), bound) << text(s) << " at " << i << ", " << j;
      if (kOwnProduct<T>) {
        ASSERT_EQ(bits(p.c(i, j)), bits(chain(p, s, i, j))) << text(s) << " at " << i << ", " << j;
      }
    }
}

/// Four transposes, assigned and added.
constexpr int kForms = 8;
Case form(int f, Index m, Index n, Index k) {
  return {m, n, k, (f & 1) != 0, (f & 2) != 0, (f & 4) != 0 ? Write::add : Write::assign, (m + n) % 5, (n + k) % 3};
}

template <class T>
struct Gemm : testing::Test {
  static void every_form(Index m, Index n, Index k) {
    for (int f = 0; f < kForms; ++f) check<T>(form(f, m, n, k));
  }
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(Gemm, Scalars);

// All 64000 sizes, each in one form, which changes with every size: each pair of sizes meets every form.
TYPED_TEST(Gemm, EverySizeTo40) {
  constexpr Index kLargest = 40;
  for (Index m = 1; m <= kLargest && !this->HasFatalFailure(); ++m)
    for (Index n = 1; n <= kLargest; ++n)
      for (Index k = 1; k <= kLargest; ++k) check<TypeParam>(form(static_cast<int>(m + n + k) % kForms, m, n, k));
}

// Every size in every form, where that is quick.
TYPED_TEST(Gemm, EverySmallSizeInEveryForm) {
  for (Index m = 1; m <= 9; ++m)
    for (Index n = 1; n <= 9; ++n)
      for (Index k = 1; k <= 9; ++k) this->every_form(m, n, k);
}

TYPED_TEST(Gemm, AroundTiles) {
  const Index rows = detail::kTileRows, columns = detail::kTileColumns<TypeParam>;
  for (const Index m : {rows - 1, rows, rows + 1, 2 * rows, 2 * rows + 1})
    for (const Index n : {columns - 1, columns, columns + 1, 2 * columns, 2 * columns + 1})
      for (const Index k : {1, 3, 17}) this->every_form(m, n, k);
}

TYPED_TEST(Gemm, AroundBlocks) {
  const Index k0 = detail::kBlockK, m0 = detail::kBlockRows, n0 = detail::kBlockColumns<TypeParam>;
  for (const Index k : {k0 - 1, k0, k0 + 1, 2 * k0 - 1, 2 * k0, 2 * k0 + 1}) this->every_form(5, 9, k);
  for (const Index m : {m0 - 1, m0, m0 + 1, 2 * m0 - 1, 2 * m0, 2 * m0 + 1}) this->every_form(m, 3, 6);
  for (const Index n : {n0 - 1, n0, n0 + 1, 2 * n0 - 1, 2 * n0, 2 * n0 + 1}) this->every_form(5, n, 6);
  for (int f = 0; f < kForms; ++f) {
    check<TypeParam>(form(f, m0 + 3, 101, k0 + 7), 13, 37);
    check<TypeParam>(form(f, 2 * m0 + 1, n0 + 5, k0 + 1), 13, 37);
    check<TypeParam>(form(f, m0 - 1, detail::kTileColumns<TypeParam> + 1, 2 * k0 + 1), 13, 7);
  }
}

/// Workers that take their turns from the last to the first.
norma::Executor workers(Index count) {
  return {count, [](void*, Index n, void (*task)(void*, Index), void* data) {
            for (Index i = n; i-- > 0;) task(data, i);
          }};
}

/// The same bits; or, with another library's product, all but the same values.
template <class T>
void expect_same(const Guarded<T>& c, const Guarded<T>& wanted, const std::string& what) {
  EXPECT_TRUE(c.intact()) << what;
  for (Index i = 0; i < c.rows(); ++i) {
    if (kOwnProduct<T>) {
      EXPECT_TRUE(same_bits(c.row(i), wanted.row(i), c.width())) << what << ", row " << i;
    } else {
      for (Index j = 0; j < c.width(); ++j)
        EXPECT_NEAR(value(c(i, j)), value(wanted(i, j)), 1000 * kUnit<T>) << what << " at " << i << ", " << j;
    }
  }
}

// A bias is where chains start: the same bits as a product added to rows that hold it.
TYPED_TEST(Gemm, StartsFromABias) {
  using T = TypeParam;
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
    Guarded<T> packing(2, gemm_scratch<T>(s.m, s.n, s.k, {}));
    for (const norma::Executor& executor : {norma::Executor{}, workers(2)}) {
      gemm<T>(executor, a, b, c.view(), Write::assign, packing.view(), bias.data());
      expect_same(c, wanted, text(s));
      EXPECT_TRUE(bias.intact() && packing.intact());
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

// A single row's stride may be anything, and rows may be one and the same.
TYPED_TEST(Gemm, RowsWithoutAStride) {
  using T = TypeParam;
  constexpr Index k = 9, n = 21;
  Guarded<T> line(1, k), b(k, n), scratch(1, gemm_scratch<T>(3, n, k, {})), c(3, n);
  Random random(3);
  const auto noise = [&](Index, Index) { return random.normal(); };
  line.fill(noise), b.fill(noise);
  for (const Index rows : {1, 3}) {
    const Operand<T> same{line.data(), rows, k, 0, 1};
    norma::MatrixView<T> to = c.view().middle_rows(0, rows);
    if (rows == 1) to.stride = 0;
    gemm<T>(same, norma::kernels::plain(b.in()), to, Write::assign, scratch.data());
    EXPECT_TRUE(c.intact());
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < n; ++j) {
        double sum = 0;
        for (Index q = 0; q < k; ++q) sum += value(line(0, q)) * value(b(q, j));
        EXPECT_NEAR(value(c(i, j)), sum, 50 * kUnit<T>);
      }
  }
}

// One row alone, one column alone, and rows that lie elsewhere in a batch have the bits they have in the whole.
TYPED_TEST(Gemm, ElementsDoNotDependOnTheirNeighbours) {
  using T = TypeParam;
  NORMA_NEEDS_OWN_PRODUCT(T);
  const Index rows = detail::kTileRows, columns = detail::kTileColumns<T>;
  for (const Index k : {Index(1), Index(64), detail::kBlockK - 1, detail::kBlockK + 88}) {
    const Case s{150, 100, k, false, true};
    Product<T> p(s);
    const auto a = [&](Index first, Index count) { return norma::kernels::plain(p.a.in().middle_rows(first, count)); };
    const auto b = [&](Index first, Index count) {
      return norma::kernels::transposed(p.b.in().middle_rows(first, count));
    };
    for (const Index i : {Index(0), Index(1), rows - 1, rows, Index(127), Index(128), Index(149)}) {
      Guarded<T> c(1, s.n, 3);
      gemm<T>(a(i, 1), b(0, s.n), c.view(), Write::assign, p.scratch.data());
      EXPECT_TRUE(same_bits(c.data(), p.c.row(i), s.n)) << "row " << i << " k " << k;
    }
    for (const Index j : {Index(0), Index(1), columns - 1, columns, Index(48), Index(99)}) {
      Guarded<T> c(s.m, 1, 1, 2);
      gemm<T>(a(0, s.m), b(j, 1), c.view(), Write::assign, p.scratch.data());
      for (Index i = 0; i < s.m; ++i) EXPECT_EQ(bits(c(i, 0)), bits(p.c(i, j))) << i << ", " << j << " k " << k;
    }
    for (const Index first : {Index(1), Index(3), rows - 1, rows + 2})
      for (const Index count : {Index(2), Index(5), rows, rows + 1, 3 * rows - 1}) {
        Guarded<T> c(count, s.n, 2, 1);
        gemm<T>(a(first, count), b(0, s.n), c.view(), Write::assign, p.scratch.data());
        for (Index i = 0; i < count; ++i)
          EXPECT_TRUE(same_bits(c.row(i), p.c.row(first + i), s.n)) << first << " + " << i << " of " << count;
      }
  }
}

// Wide and tall, so that columns and rows are split; also into fewer pieces than there are workers.
TYPED_TEST(Gemm, AnyNumberOfWorkers) {
  using T = TypeParam;
  for (const auto& [m, n, k] : {std::array<Index, 3>{5, 203, 37}, {203, 5, 37}, {61, 61, detail::kBlockK + 3}})
    for (int f = 0; f < kForms; ++f) {
      const Case s = form(f, m, n, k);
      const Product<T> p(s);
      for (const Index count : {1, 2, 3, 7}) {
        Guarded<T> c = p.before, packing(count, gemm_scratch<T>(m, n, k, {.transposed_a = s.a_transposed}));
        gemm<T>(workers(count), p.a_operand(s), p.b_operand(s), c.view(), s.write, packing.view());
        expect_same(c, p.c, text(s) + " by " + std::to_string(count));
        EXPECT_TRUE(packing.intact());
      }
    }
}

/// How often each element was finished, and whether it was ready then.
template <class T>
struct Finished {
  norma::MatrixView<const T> c;
  const Guarded<T>& wanted;
  std::vector<int> times = std::vector<int>(static_cast<std::size_t>(wanted.rows() * wanted.width()));
  bool ready = true;

  Finished(norma::MatrixView<const T> result, const Guarded<T>& w) : c(result), wanted(w) {}
  void operator()(Index row, Index column, Index rows, Index columns) {
    for (Index i = row; i < row + rows; ++i)
      for (Index j = column; j < column + columns; ++j) {
        ++times[static_cast<std::size_t>(i * wanted.width() + j)];
        ready = ready && std::abs(value(c.row(i)[j]) - value(wanted(i, j))) <= 1000 * kUnit<T>;
      }
  }
};

// Every element is finished once, when it is done: also where there is nothing to add up, and by every worker.
TYPED_TEST(Gemm, FinishesEveryElementOnce) {
  using T = TypeParam;
  const Index k0 = detail::kBlockK, n0 = detail::kBlockColumns<T>;
  for (const auto& [m, n, k] : {std::array<Index, 3>{1, 1, 1}, {3, 5, 0}, {13, n0 + 7, 9}, {70, 50, k0 + 5}, {0, 3, 2}})
    for (int f = 0; f < kForms; ++f) {
      const Case s = form(f, m, n, k);
      const Product<T> p(s);
      for (const Index count : {1, 3}) {
        Guarded<T> c = p.before, packing(count, gemm_scratch<T>(m, n, k, {.transposed_a = s.a_transposed}));
        Finished<T> finished(c.in(), p.c);
        const auto look = [&](Index row, Index column, Index rows, Index columns) {
          finished(row, column, rows, columns);
        };
        gemm<T>(workers(count), p.a_operand(s), p.b_operand(s), c.view(), s.write, packing.view(), nullptr,
                norma::kernels::Finish::with(look));
        EXPECT_TRUE(finished.ready) << text(s);
        for (const int times : finished.times) EXPECT_EQ(times, 1) << text(s);
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

#if !defined(__SANITIZE_ADDRESS__)
// Rows that lie further apart than an int can say: in pages of which two are touched.
TYPED_TEST(Gemm, StridesBeyondInt) {
  using T = TypeParam;
  constexpr Index kStride = Index(std::numeric_limits<int>::max()) + 9, kSize = 5;
  constexpr std::size_t kBytes = static_cast<std::size_t>(kStride + kSize) * sizeof(T);
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no address space for 8 or 16 GiB";
  const norma::MatrixView<T> a(static_cast<T*>(memory), 2, kSize, kStride);
  for (Index j = 0; j < kSize; ++j) a.row(0)[j] = T(j + 1), a.row(1)[j] = T(-j);
  const Guarded<T> ones = Guarded<T>(kSize, 3).fill([](Index, Index) { return 1; });
  Guarded<T> c(2, 3), scratch(1, gemm_scratch<T>(kSize, kSize, kSize, {}));
  const norma::MatrixView<const T> in = a;
  gemm<T>(norma::kernels::plain(in), norma::kernels::plain(ones.in()), c.view(), Write::assign, scratch.data());
  for (Index j = 0; j < 3; ++j) EXPECT_TRUE(c(0, j) == T(15) && c(1, j) == T(-10)) << c(0, j) << ' ' << c(1, j);
  munmap(memory, kBytes);
}
#endif

TEST(GemmScratch, GrowsWithEverySize) {
  const Index sizes[] = {0, 1, 3, 8, 24, 100, 128, 200, 256, 300, 700, 1536};
  for (const bool transposed : {false, true})
    for (const bool packed : {false, true}) {
      const auto scratch = [&](Index m, Index n, Index k) {
        return gemm_scratch<float>(m, n, k, {.transposed_a = transposed, .packed_b = packed});
      };
      for (const Index a : sizes)
        for (const Index b : sizes)
          for (std::size_t i = 1; i < std::size(sizes); ++i) {
            EXPECT_LE(scratch(sizes[i - 1], a, b), scratch(sizes[i], a, b));
            EXPECT_LE(scratch(a, sizes[i - 1], b), scratch(a, sizes[i], b));
            EXPECT_LE(scratch(a, b, sizes[i - 1]), scratch(a, b, sizes[i]));
          }
    }
}

}  // namespace
