// SPDX-License-Identifier: MIT
#include <norma/kernels/stream_mix.hpp>

#include <gtest/gtest.h>

#include <array>

#include "kernel_memory.hpp"

namespace {

using namespace norma_test;
using norma::Index;
using norma::MatrixView;
namespace kernels = norma::kernels;

template <class T>
struct StreamMix : testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(StreamMix, Scalars);

constexpr std::size_t kParts = 3;
template <class T>
using Parts = std::array<Guarded<T>, kParts>;
template <class T>
Parts<T> parts(Random& random, Index rows, Index width, Index gap) {
  Parts<T> s{Guarded<T>(rows, width, 0, gap), Guarded<T>(rows, width, 1, gap), Guarded<T>(rows, width, 2, gap)};
  for (auto& part : s) part.fill([&](Index, Index) { return random.normal(); });
  return s;
}
template <class T>
std::array<MatrixView<const T>, kParts> in(const Parts<T>& s) {
  return {s[0].in(), s[1].in(), s[2].in()};
}
template <class T>
std::array<MatrixView<T>, kParts> out(Parts<T>& s) {
  return {s[0].view(), s[1].view(), s[2].view()};
}
template <class T>
bool intact(const Parts<T>& s) {
  return s[0].intact() && s[1].intact() && s[2].intact();
}

/// With coefficients of every row's own, and with one row of them for all.
TYPED_TEST(StreamMix, IsItsEquations) {
  using T = TypeParam;
  const double close = sizeof(T) == 4 ? 3e-5 : 1e-13;
  Random random(9);
  const norma::Executor executor;
  for (const Index width : {1, 3, 8, 9, 17, 35})
    for (const bool own : {true, false}) {
      const Index rows = 5, coefficients = kParts * (kParts + 1), gap = own ? 3 : 0;
      const Parts<T> s = parts<T>(random, rows, width, gap);
      Guarded<T> c(rows, coefficients, 1, 0), w(rows, width, 3, gap), dw(rows, width, 1, gap), y(rows, width, 1, gap),
          dc(rows, coefficients), dm(rows, kParts);
      for (auto* m : {&c, &w}) m->fill([&](Index, Index) { return random.normal(); });
      const MatrixView<const T> all = own ? c.in() : MatrixView<const T>{c.data(), rows, coefficients, 0};
      const auto at = [&](Index r, std::size_t i) { return double(all.row(r)[i]); };

      kernels::mix_read(executor, all, in(s), y.view());
      Parts<T> to = parts<T>(random, rows, width, gap), d = parts<T>(random, rows, width, gap), ds = d, read_ds = d;
      kernels::mix_write(executor, all, in(s), w.in(), out(to));
      kernels::mix_read_backward(executor, all, in(s), w.in(), out(read_ds), dm.view());
      kernels::mix_write_backward(executor, all, in(s), w.in(), out(ds), dw.view(), dc.view());
      for (Index r = 0; r < rows; ++r) {
        for (Index i = 0; i < width; ++i) {
          double read = 0, branch = 0;
          for (std::size_t p = 0; p < kParts; ++p) {
            read += at(r, p) * s[p](r, i);
            branch += at(r, p * (kParts + 1) + kParts) * d[p](r, i);
            double written = at(r, p * (kParts + 1) + kParts) * w(r, i), back = 0;
            for (std::size_t q = 0; q < kParts; ++q) {
              written += at(r, q * (kParts + 1) + p) * s[q](r, i);
              back += at(r, p * (kParts + 1) + q) * d[q](r, i);
            }
            ASSERT_NEAR(to[p](r, i), written, close) << width;
            ASSERT_NEAR(ds[p](r, i), back, close) << width;
            ASSERT_NEAR(read_ds[p](r, i), d[p](r, i) + at(r, p) * w(r, i), close) << width;
          }
          ASSERT_NEAR(y(r, i), read, close) << width;
          ASSERT_NEAR(dw(r, i), branch, close) << width;
        }
        const auto dot = [&](const Guarded<T>& a, const Guarded<T>& b) {
          double sum = 0;
          for (Index i = 0; i < width; ++i) sum += double(a(r, i)) * b(r, i);
          return sum;
        };
        for (std::size_t p = 0; p < kParts; ++p) {
          const auto row = static_cast<Index>(p * (kParts + 1));
          EXPECT_NEAR(dm(r, static_cast<Index>(p)), dot(s[p], w), close) << width;
          EXPECT_NEAR(dc(r, row + Index(kParts)), dot(w, d[p]), close) << width;
          for (std::size_t q = 0; q < kParts; ++q)
            EXPECT_NEAR(dc(r, row + static_cast<Index>(q)), dot(s[p], d[q]), close) << width;
        }
      }
      EXPECT_TRUE(intact(s) && intact(to) && intact(ds) && intact(read_ds) && y.intact() && dw.intact() &&
                  dc.intact() && dm.intact())
          << width;
    }
}

}  // namespace
