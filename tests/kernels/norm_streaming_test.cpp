// SPDX-License-Identifier: MIT
// Outputs that bypass the caches have the bits of those that do not.
#include <norma/kernels/norm.hpp>
#include <norma/kernels/residual_norm.hpp>

#include <gtest/gtest.h>

#include "kernel_memory.hpp"

namespace {

using namespace norma_test;
using norma::MatrixView;
using norma::Write;
namespace kernels = norma::kernels;
using kernels::Center;

struct Layout {
  Index width, gap, offset, phase;  ///< phase: of the second outputs' addresses
};

template <class S>
struct NormStreaming : testing::Test {
  using T = norma::Compute<S>;
  static constexpr Index kBatch = 101;

  /// f(first, count, outputs) fills two outputs from rows [first, first + count): all at once, then in batches.
  template <class F>
  static void same_in_batches(const Layout& l, const F& f) {
    const Index rows = kernels::kStreamBytes / (l.width * static_cast<Index>(sizeof(S))) + 3 * kBatch;
    ASSERT_GT(rows * l.width * static_cast<Index>(sizeof(S)), kernels::kStreamBytes);
    Guarded<S> whole(rows, l.width, l.offset, l.gap), second(rows, l.width, l.offset + l.phase, l.gap);
    f(0, rows, whole.view(), second.view());
    EXPECT_TRUE(whole.intact() && second.intact());
    Guarded<S> part(kBatch, l.width, 1, 1), second_part(kBatch, l.width, 2);
    Index wrong = 0;
    for (Index r = 0; r < rows; r += kBatch) {
      const Index count = std::min(kBatch, rows - r);
      f(r, count, part.view().middle_rows(0, count), second_part.view().middle_rows(0, count));
      for (Index i = 0; i < count; ++i)
        wrong += !same_bits(whole.row(r + i), part.row(i), l.width) ||
                 !same_bits(second.row(r + i), second_part.row(i), l.width);
    }
    EXPECT_EQ(wrong, 0) << l.width << " + " << l.gap << " at " << l.offset;
  }
};
using Types = testing::Types<float, norma::bfloat16>;
TYPED_TEST_SUITE(NormStreaming, Types);

TYPED_TEST(NormStreaming, EqualsSmallBatches) {
  using S = TypeParam;
  using T = norma::Compute<S>;
  // The third streams in backward too, from an odd address on; in the last, forward's two outputs differ in phase.
  for (const Layout& l : {Layout{768, 0, 0, 0}, Layout{767, 4, 3, 0}, Layout{765, 35, 5, 0}, Layout{768, 0, 0, 1}}) {
    // A few different rows of inputs, over and over.
    constexpr Index kDifferent = 64;
    Random random(2);
    Guarded<S> x(kDifferent, l.width), w(kDifferent, l.width), dy(kDifferent, l.width), gamma(1, l.width);
    for (auto* m : {&x, &w, &dy, &gamma}) m->fill([&](Index, Index) { return random.normal(); });
    const S* const g = gamma.data();
    const Index rows = kernels::kStreamBytes / (l.width * static_cast<Index>(sizeof(S))) + 400;
    std::vector<S> big_x(static_cast<std::size_t>(rows * l.width)), big_dy(big_x), big_w(big_x);
    for (Index r = 0; r < rows; ++r) {
      std::copy_n(x.row(r % 61), l.width, big_x.data() + r * l.width);
      std::copy_n(dy.row(r % 59), l.width, big_dy.data() + r * l.width);
      std::copy_n(w.row(r % 53), l.width, big_w.data() + r * l.width);
    }
    const auto in = [&](const std::vector<S>& m, Index first, Index count) {
      return MatrixView<const S>{m.data() + first * l.width, count, l.width};
    };
    this->same_in_batches(l, [&](Index first, Index count, MatrixView<S> s, MatrixView<S> y) {
      const kernels::ScaledSum<S> sum{in(big_x, first, count), in(big_w, first, count), 0.5};
      kernels::residual_norm_forward<Center::mean>(sum, g, g, 1e-5, s, y, {});
    });
    this->same_in_batches(l, [&](Index first, Index count, MatrixView<S> dx, MatrixView<S> dw) {
      const kernels::ScaledSum<S> sum{in(big_x, first, count), in(big_w, first, count), 0.5};
      kernels::residual_norm_backward<Center::mean>(sum, sum, in(big_dy, first, count), in(big_w, first, count), g,
                                                    1e-5, {}, dx, Write::assign, dw, static_cast<S*>(nullptr),
                                                    static_cast<S*>(nullptr), {});
    });
    this->same_in_batches(l, [&](Index first, Index count, MatrixView<S> y, MatrixView<S> dx) {
      std::vector<T> statistics(static_cast<std::size_t>(3 * count));
      const kernels::SavedStatistics<T> saved{statistics.data(), statistics.data() + count,
                                              statistics.data() + 2 * count};
      kernels::norm_forward<Center::mean, S>(in(big_x, first, count), g, nullptr, 1e-5, y, saved);
      kernels::norm_backward<Center::mean, S>(in(big_x, first, count), in(big_dy, first, count), g, 1e-5, saved, dx,
                                              Write::assign, nullptr, nullptr, {});
    });
  }
}

}  // namespace
