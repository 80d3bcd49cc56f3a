// SPDX-License-Identifier: MIT
// Cases G and D03: masks, lengths and biases.
#include <norma/norma.hpp>

#include "kernel_attention.hpp"
#include "kernel_case_norm.hpp"

namespace {

using namespace norma_test;
using norma::Index;
using Problem = norma::kernels::AttentionProblem<float>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

struct Result {
  std::vector<float> o, dq, dk, dv;
};
/// One head of the width that q and k have.
Result attend(Problem p, const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v,
              std::vector<float> d_o = {}) {
  const Index n = p.head_dim;
  Result r{std::vector<float>(q.size(), 99), std::vector<float>(q.size(), 99), std::vector<float>(k.size(), 99),
           std::vector<float>(v.size(), 99)};
  std::vector<float> lse(static_cast<std::size_t>(p.queries));
  if (d_o.empty()) d_o.assign(q.size(), 1);
  norma::kernels::attention_forward<float>(norma_test::with_packing(p), {q.data(), p.queries, n}, {k.data(), p.keys, n},
                                           {v.data(), p.keys, n}, {r.o.data(), p.queries, n},
                                           {lse.data(), p.queries, 1});
  norma::kernels::attention_backward<float>(
      norma_test::with_packing(p), {q.data(), p.queries, n}, {k.data(), p.keys, n}, {v.data(), p.keys, n},
      {r.o.data(), p.queries, n}, {lse.data(), p.queries, 1}, {d_o.data(), p.queries, n}, {r.dq.data(), p.queries, n},
      {r.dk.data(), p.keys, n}, {r.dv.data(), p.keys, n});
  return r;
}

TEST(CasesD, D03_GarbageInAMaskedKey) {
  const bool keep[] = {true, false};
  Problem p{1, 1, 2, 1, 1, 2, 1};
  p.keep = {keep, 1, 1, 1, 2};
  const Result r = attend(p, {1, 0}, {1, 1, kNan, kNan}, {2, 3, kNan, kNan});
  expect_near(r.o, {2, 3}, 0);
  expect_near(r.dq, {0, 0}, 0);
  for (const std::size_t i : {2, 3}) EXPECT_TRUE(r.dk[i] == 0 && r.dv[i] == 0);
}
TEST(CasesG, G01_FullyMaskedRow) {
  const bool keep[] = {true, true, false, false};
  Problem p{1, 2, 2, 1, 1, 2, 1 / std::sqrt(2.0)};
  p.keep = {keep, 1, 1, 2, 2};
  const Result r = attend(p, {1, 0, 0, 1}, {1, 1, 0, 2}, {2, 0, 4, 6});
  expect_near(r.o, {2.660477, 1.981431, 0, 0}, 1e-6);
  EXPECT_TRUE(r.dq[2] == 0 && r.dq[3] == 0);
}
TEST(CasesG, G03_TopLeftIsTheOtherOption) {
  Problem p{1, 1, 4, 1, 1, 1, 1, true};
  p.align = norma::Align::top_left;
  expect_near(attend(p, {0}, {0, 0, 0, 0}, {1, 2, 3, 4}).o, {1}, 1e-6);
  p.queries = 2;
  expect_near(attend(p, {0, 0}, {0, 0, 0, 0}, {1, 2, 3, 4}).o, {1, 1.5}, 1e-6);
}
TEST(CasesG, G04_FiniteBiasIsOnlyABias) {
  Problem p{1, 1, 2, 1, 1, 1, 1};
  const float lowest[] = {
      0, 2 * std::numeric_limits<float>::lowest()};  // two masks of the lowest number add up to minus infinity
  p.bias = {lowest, 1, 1, 1, 2};
  expect_near(attend(p, {0}, {0, 0}, {2, 4}).o, {2}, 0);
  const float all[] = {-1e30f, -1e30f};
  p.bias = {all, 1, 1, 1, 2};
  expect_near(attend(p, {0}, {0, 0}, {2, 4}).o, {3}, 1e-6);
  const float none[] = {-kInfinity, -kInfinity};
  p.bias = {none, 1, 1, 1, 2};
  expect_near(attend(p, {0}, {0, 0}, {2, 4}).o, {0}, 0);
  const bool drop[] = {false, false};
  p.bias = {};
  p.keep = {drop, 1, 1, 1, 2};
  expect_near(attend(p, {0}, {0, 0}, {2, 4}).o, {0}, 0);
  // A key whose score is 20000 above the other: a bias of -10000 does not hide it, a mask does.
  const float some[] = {0, -10000};
  p.keep = {};
  p.bias = {some, 1, 1, 1, 2};
  expect_near(attend(p, {1}, {0, 20000}, {2, 4}).o, {4}, 0);
  const bool hide[] = {true, false};
  p.bias = {};
  p.keep = {hide, 1, 1, 1, 2};
  expect_near(attend(p, {1}, {0, 20000}, {2, 4}).o, {2}, 0);
}
TEST(CasesG, G05_CausalAndPaddingTogether) {
  bool keep[9];
  for (int i = 0; i < 9; ++i) keep[i] = i % 3 != 0;  // key 0 is padding
  Problem p{1, 3, 3, 1, 1, 1, 1, true};
  p.keep = {keep, 1, 1, 3, 3};
  expect_near(attend(p, {0, 0, 0}, {0, 0, 0}, {1, 2, 4}).o, {0, 2, 3}, 1e-6);
}
TEST(CasesG, G06_TrueKeeps) {
  const bool keep[] = {true, true, false};
  Problem p{1, 1, 3, 1, 1, 1, 1};
  p.keep = {keep, 1, 1, 1, 3};
  expect_near(attend(p, {0}, {0, 0, 0}, {1, 2, 4}).o, {1.5}, 1e-6);
}
TEST(CasesG, G08_AMaskedKeyWithALargeScore) {
  const bool keep[] = {true, true, false};
  Problem p{1, 1, 3, 1, 1, 1, 1};
  p.keep = {keep, 1, 1, 1, 3};
  // dP = [1, 0, 7]; with keys 1, 1, 100 and query 1, dk = dS and dq = sum of dS k.
  const Result r = attend(p, {1}, {1, 1, 100}, {1, 0, 7});
  expect_near(r.o, {0.5}, 1e-6);
  expect_near(r.dk, {0.25, -0.25, 0}, 1e-6);
  expect_near(r.dq, {0}, 1e-6);
}
// Every block of keys, and lengths that end in one.
TEST(CasesG, LengthsEndAnywhere) {
  for (const Index length : {0, 1, 63, 64, 65, 128, 130}) {
    Problem p{1, 1, 130, 1, 1, 1, 1};
    p.key_lengths = &length;
    std::vector<float> k(130), v(130);
    for (std::size_t j = 0; j < 130; ++j) {
      const bool seen = static_cast<Index>(j) < length;
      k[j] = seen ? 0 : kNan;
      v[j] = seen ? static_cast<float>(j) : kNan;
    }
    const Result r = attend(p, {0}, k, v);
    EXPECT_NEAR(r.o[0], length > 0 ? static_cast<float>(length - 1) / 2 : 0, 1e-4) << length;
    for (std::size_t j = 0; j < 130; ++j) EXPECT_TRUE(std::isfinite(r.dk[j]) && std::isfinite(r.dv[j])) << j;
  }
}

}  // namespace
