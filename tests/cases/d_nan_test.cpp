// SPDX-License-Identifier: MIT
// Cases D: NaN and infinities.
#include <norma/kernels/attention.hpp>
#include <norma/kernels/softmax.hpp>

#include "kernel_attention.hpp"
#include "kernel_case_norm.hpp"

namespace {

using namespace norma_test;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

TEST(CasesD, D01_BadRowAmongGoodOnes) {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    LayerNormCall<> clean{4, {1, 2, 3, 4, 1, 1, 3, 4, 2, 4, 6, 8}}, dirty{4, {1, 2, 3, 4, 1, bad, 3, 4, 2, 4, 6, 8}};
    clean.forward(), dirty.forward();
    expect_near(std::vector<float>(dirty.y.begin(), dirty.y.begin() + 4),
                {-1.3416354, -0.4472118, 0.4472118, 1.3416354}, 1e-6);
    expect_near(std::vector<float>(dirty.y.begin() + 8, dirty.y.end()), {-1.3416394, -0.4472131, 0.4472131, 1.3416394},
                1e-6);
    EXPECT_TRUE(same_bits(clean.y.data(), dirty.y.data(), 4));
    EXPECT_TRUE(same_bits(clean.y.data() + 8, dirty.y.data() + 8, 4));
    for (std::size_t i = 4; i < 8; ++i) EXPECT_TRUE(std::isnan(dirty.y[i]));

    RMSNormCall<> rms_clean{4, clean.x}, rms{4, dirty.x};
    rms_clean.forward(), rms.forward();
    EXPECT_TRUE(same_bits(rms_clean.y.data(), rms.y.data(), 4));
    EXPECT_TRUE(same_bits(rms_clean.y.data() + 8, rms.y.data() + 8, 4));
    EXPECT_TRUE(std::isnan(rms.y[5]));
    for (const std::size_t i : {4u, 6u, 7u}) EXPECT_TRUE(std::isnan(rms.y[i]) || rms.y[i] == 0);

    for (std::size_t r = 0; r < 3; ++r) {
      norma::kernels::softmax(clean.x.data() + 4 * r, 4);
      norma::kernels::softmax(dirty.x.data() + 4 * r, 4);
      if (r == 1) continue;
      EXPECT_TRUE(same_bits(clean.x.data() + 4 * r, dirty.x.data() + 4 * r, 4));
    }
    if (bad != -kInfinity) {
      EXPECT_TRUE(std::isnan(dirty.x[5]));  // minus infinity is a mask to a softmax
    }
  }
}

// What a causal mask can express: the first query sees key 0 only, and key 1 and value 1 are garbage.
TEST(CasesD, D03_GarbageBehindTheCausalMask) {
  const float q[] = {1, 0, 0, 0}, k[] = {1, 1, kNan, kNan}, v[] = {2, 3, kNan, kNan};
  float o[4], lse[2];
  norma::kernels::attention_forward<float>(norma_test::with_packing<float>({1, 2, 2, 1, 1, 2, 1, true}), {q, 2, 2},
                                           {k, 2, 2}, {v, 2, 2}, {o, 2, 2}, {lse, 2, 1});
  EXPECT_EQ(o[0], 2.0f);
  EXPECT_EQ(o[1], 3.0f);
  EXPECT_TRUE(std::isnan(o[2]) && std::isnan(o[3]));
  // No query sees any key (more queries than keys would leave the last one): batch 1 of 2 must not notice batch 0's
  // garbage.
  const float q2[] = {1, 0, 1, 0}, k2[] = {kNan, kNan, 1, 1}, v2[] = {kNan, kNan, 2, 3}, d[] = {0, 0, 1, 1};
  float dq[4], dk[4], dv[4];
  const auto shape = norma_test::with_packing<float>({2, 1, 1, 1, 1, 2, 1});
  norma::kernels::attention_forward<float>(shape, {q2, 2, 2}, {k2, 2, 2}, {v2, 2, 2}, {o, 2, 2}, {lse, 2, 1});
  norma::kernels::attention_backward<float>(shape, {q2, 2, 2}, {k2, 2, 2}, {v2, 2, 2}, {o, 2, 2}, {lse, 2, 1},
                                            {d, 2, 2}, {dq, 2, 2}, {dk, 2, 2}, {dv, 2, 2});
  EXPECT_EQ(o[2], 2.0f);
  EXPECT_EQ(o[3], 3.0f);
  for (const int i : {2, 3}) {
    EXPECT_EQ(dq[i], 0.0f);
    EXPECT_EQ(dk[i], 0.0f);
    EXPECT_EQ(dv[i], 1.0f);
  }
}

}  // namespace
