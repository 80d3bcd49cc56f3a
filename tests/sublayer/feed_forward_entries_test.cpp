// SPDX-License-Identifier: MIT
// What a policy may put inside the feed-forward.
#include "kernel_network.hpp"

namespace {

using namespace norma_test;
using norma::LayerNorm;
using norma::place;
using norma::RMSNorm;
using norma::Standalone;

template <template <class, class> class F>
struct Of {
  template <class T, class Table = norma::Table<1>>
  static auto make(Index width, Index hidden, const Table& table = {}) {
    const auto entries = norma::inner_entries(table);
    using Module = F<T, std::remove_const_t<decltype(entries)>>;
    return Standalone(Module({.width = width, .heads = 1, .hidden = hidden}, entries), width);
  }
};
using GELU = Of<norma::GELU>;
using SwiGLU = Of<norma::SwiGLU>;

template <class F, class Table>
void check(const Table& table) {
  expect_gradients(F::template make<double>(12, 31, table), 12);
  expect_gradients(F::template make<double>(21, 17, table), 21);
}

TEST(FeedForwardEntries, Up) {
  check<GELU>(place().up(LayerNorm<double>{}));
  check<SwiGLU>(place().up(LayerNorm<double>{}));
}
TEST(FeedForwardEntries, Hidden) {
  check<GELU>(place().hidden(LayerNorm<double>{}));
  check<SwiGLU>(place().hidden(RMSNorm<double>{}));
}
TEST(FeedForwardEntries, Gate) { check<SwiGLU>(place().gate(RMSNorm<double>{})); }
TEST(FeedForwardEntries, ModulesThatNeedNoInput) { check<GELU>(place().up(norma::Scale{0.6}).hidden(norma::Scale{2})); }

// Its input is not kept, but for the projections' and the activation's.
TEST(FeedForwardEntries, WhatNobodyReadsAgainIsNotKept) {
  const auto tape_bytes = [](const auto& network) {
    auto workspace = network.workspace({1, 7});
    const auto weights = network.initialize(norma::Rng(1));
    std::vector<float> x(7 * 16), y(7 * 16);
    const auto view = [](auto& v) { return norma::TensorView<float>{{1, 7}, {v.data(), 7, 16}}; };
    network.forward(weights, view(x), view(y), workspace);
    return workspace.usage().tape_bytes;
  };
  const norma::Scale half{0.5};
  EXPECT_EQ(tape_bytes(GELU::make<float>(16, 32, place().up(half).hidden(half))),
            tape_bytes(GELU::make<float>(16, 32)));
  EXPECT_EQ(tape_bytes(SwiGLU::make<float>(16, 32, place().up(half).gate(half).hidden(half))),
            tape_bytes(SwiGLU::make<float>(16, 32)));
}

template <class T>
auto everything() {
  return place().gate(LayerNorm<T>{}).up(RMSNorm<T>{}).hidden(LayerNorm<T>{});
}
TEST(FeedForwardEntries, AllTogether) { check<SwiGLU>(everything<double>()); }
TEST(FeedForwardEntries, FloatAgreesWithDouble) {
  expect_float_agrees(SwiGLU::make<float>(21, 17, everything<float>()),
                      SwiGLU::make<double>(21, 17, everything<double>()), 21, 21, 24);
}
TEST(FeedForwardEntries, Parameters) {
  const auto network = SwiGLU::make<float>(12, 31, everything<float>());
  for (const char* name :
       {"gate_entry.gamma", "gate_entry.beta", "up_entry.gamma", "hidden_entry.gamma", "hidden_entry.beta"})
    EXPECT_EQ(network.layout().find(name).at.columns, 31) << name;
}

}  // namespace
