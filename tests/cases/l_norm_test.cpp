// SPDX-License-Identifier: MIT
// Cases L: what a norm's result must not depend on.
#include "../../examples/pool.hpp"

#include <cstring>

#include "kernel_case_norm.hpp"
#include "kernel_norm_oracle.hpp"

namespace {

using namespace norma_test;

TEST(CasesL, L07_WorkersAndRepeats) {
  constexpr Index kRows = 513, kWidth = 257;
  Random random(7);
  Guarded<float> x(kRows, kWidth), dy(kRows, kWidth), gamma(1, kWidth);
  for (auto* m : {&x, &dy, &gamma}) m->fill([&](Index, Index) { return random.normal(); });
  struct Results {
    Guarded<float> y{kRows, kWidth}, dx{kRows, kWidth}, parameters{2, kWidth};
  };
  const auto run = [&](const norma::Executor& executor) {
    Results r;
    r.parameters.fill([](Index, Index) { return 0.0; });
    std::vector<float> hi(kRows), lo(kRows), rstd(kRows);
    std::vector<float> partial(static_cast<std::size_t>(executor.workers * 2 * kWidth));
    std::vector<double> total(3 * 2 * kWidth);
    norma::kernels::norm_forward<Center::mean, float>(x.in(), gamma.data(), nullptr, 1e-5, r.y.view(),
                                                      {hi.data(), lo.data(), rstd.data()}, false, executor);
    norma::kernels::norm_backward<Center::mean, float>(
        x.in(), dy.in(), gamma.data(), 1e-5, {hi.data(), lo.data(), rstd.data()}, r.dx.view(), norma::Write::assign,
        r.parameters.row(0), r.parameters.row(1), {partial.data(), total.data(), 2 * kWidth}, false, executor);
    return r;
  };
  const Results right = run({});
  for (const int workers : {1, 2, 3, 7}) {
    Pool pool(workers);
    int wrong = 0;
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Results given = run(pool.executor());
      wrong += !same_bits(given.y.data(), right.y.data(), kRows * kWidth) ||
               !same_bits(given.dx.data(), right.dx.data(), kRows * kWidth) ||
               !same_bits(given.parameters.data(), right.parameters.data(), 2 * kWidth);
    }
    EXPECT_EQ(wrong, 0) << workers << " workers";
  }
}

TEST(CasesL, L08_ARowDoesNotDependOnTheBatch) {
  constexpr std::size_t kWidth = 1000;
  Random random(8);
  std::vector<float> row(kWidth), d_row(kWidth);
  for (auto* v : {&row, &d_row})
    for (auto& e : *v) e = static_cast<float>(random.normal());
  struct Result {
    std::vector<float> y, dx;
    float rstd;
  };
  const auto run = [&](std::size_t rows, std::size_t at) {
    LayerNormCall<> call{kWidth, std::vector<float>(rows * kWidth)};
    std::vector<float> dy(rows * kWidth);
    for (auto* v : {&call.x, &dy})
      for (auto& e : *v) e = static_cast<float>(random.normal());
    const auto begin = static_cast<std::ptrdiff_t>(at * kWidth), end = begin + static_cast<std::ptrdiff_t>(kWidth);
    std::copy(row.begin(), row.end(), call.x.begin() + begin);
    std::copy(d_row.begin(), d_row.end(), dy.begin() + begin);
    call.forward().backward(dy);
    return Result{{call.y.begin() + begin, call.y.begin() + end},
                  {call.dx.begin() + begin, call.dx.begin() + end},
                  call.rstd[at]};
  };
  const Result alone = run(1, 0);
  for (const auto& [rows, at] : {std::pair<std::size_t, std::size_t>{7, 0}, {300, 255}}) {
    const Result other = run(rows, at);
    expect_bits(other.y, alone.y);
    expect_bits(other.dx, alone.dx);
    EXPECT_EQ(bits(other.rstd), bits(alone.rstd));
  }
}

}  // namespace
