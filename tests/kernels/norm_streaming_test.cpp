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
  static constexpr Index kBatch = 101;

  /// f(first, outputs) fills two outputs from rows [first, first + their rows): all at once, then in batches.
  template <class F>
  static void same_in_batches(const Layout& l, const F& f) {
    const Index rows = kernels::kStreamBytes / (l.width * static_cast<Index>(sizeof(S))) + 3 * kBatch;
    ASSERT_GT(rows * l.width * static_cast<Index>(sizeof(S)), kernels::kStreamBytes);
    Guarded<S> whole(rows, l.width, l.offset, l.gap), second(rows, l.width, l.offset + l.phase, l.gap);
    f(0, whole.view(), second.view());
    EXPECT_TRUE(whole.intact() && second.intact());
    Guarded<S> part(kBatch, l.width, 1, 1), second_part(kBatch, l.width, 2);
    Index wrong = 0;
    for (Index r = 0; r < rows; r += kBatch) {
      const Index count = std::min(kBatch, rows - r);
      f(r, part.view().middle_rows(0, count), second_part.view().middle_rows(0, count));
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
  constexpr Index kWidest = 768, kRows = kernels::kStreamBytes / (765 * static_cast<Index>(sizeof(S))) + 400;
  Random random(2);
  Guarded<S> few(67, kWidest), gamma(1, kWidest);
  for (auto* m : {&few, &gamma}) m->fill([&](Index, Index) { return random.normal(); });
  // x, w and dy: a few different rows, over and over, and each matrix begins at another.
  std::vector<S> inputs(static_cast<std::size_t>((kRows + 2) * kWidest));
  for (Index r = 0; r < kRows + 2; ++r) std::copy_n(few.row(r % 67), kWidest, inputs.data() + r * kWidest);
  std::vector<norma::Compute<S>> statistics(static_cast<std::size_t>(3 * kRows));
  const kernels::SavedStatistics<norma::Compute<S>> saved{statistics.data(), statistics.data() + kRows,
                                                          statistics.data() + 2 * kRows};
  const S* const g = gamma.data();
  const auto in = [&](Index which, Index first, const MatrixView<S>& like) {
    return MatrixView<const S>{inputs.data() + (which + first) * kWidest, like.rows, like.columns, kWidest};
  };
  const auto sum = [&](Index first, const MatrixView<S>& like) {
    return kernels::ScaledSum<S>{in(0, first, like), in(1, first, like), 0.5};
  };
  const auto forward = [&](Index first, MatrixView<S> s, MatrixView<S> y) {
    kernels::residual_norm_forward<Center::mean>(sum(first, y), g, g, 1e-5, s, y, saved);
  };
  const auto residual_backward = [&](Index first, MatrixView<S> dx, MatrixView<S> dw) {
    forward(first, dx, dw);  // for the statistics
    kernels::residual_norm_backward<Center::mean>(sum(first, dx), sum(first, dx), in(2, first, dx), {}, g, 1e-5, saved,
                                                  dx, Write::assign, dw, static_cast<S*>(nullptr),
                                                  static_cast<S*>(nullptr), {});
  };
  const auto norm = [&](Index first, MatrixView<S> y, MatrixView<S> dx) {
    kernels::norm_forward<Center::mean, S>(in(0, first, y), g, nullptr, 1e-5, y, saved);
    kernels::norm_backward<Center::mean, S>(in(0, first, y), in(2, first, y), g, 1e-5, saved, dx, Write::assign,
                                            nullptr, nullptr, {});
  };
  this->same_in_batches({768, 0, 0, 0}, forward);
  this->same_in_batches({767, 4, 3, 1}, forward);  // the sum does not stream
  this->same_in_batches({768, 32, 1, 0}, residual_backward);
  this->same_in_batches({765, 35, 5, 0}, norm);
}

}  // namespace
