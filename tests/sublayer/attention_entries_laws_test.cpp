// SPDX-License-Identifier: MIT
// Laws of attention with everything that a policy may put inside.
#include "kernel_network.hpp"

namespace {

using namespace norma_test;
using norma::LayerNorm;
using norma::place;
using norma::RMSNorm;
using norma::Standalone;

/// Attention with the inner entries of a table.
template <class T, class Table>
auto attention(const Table& table, Index width, Index heads) {
  const auto entries = norma::inner_entries(table);
  return Standalone(
      norma::Attention<T, std::remove_const_t<decltype(entries)>>({.width = width, .heads = heads}, entries), width);
}
template <class T>
auto everything() {
  return place()
      .query(RMSNorm<T>{})
      .key(LayerNorm<T>{})
      .value(RMSNorm<T>{})
      .score_scale(0.7)
      .head_scale(0.8)
      .before_output(LayerNorm<T>{});
}

TEST(AttentionEntries, FloatAgreesWithDouble) {
  expect_float_agrees(attention<float>(everything<float>(), 21, 3), attention<double>(everything<double>(), 21, 3), 21,
                      21, 24, {.causal = true});
}
TEST(AttentionEntries, LaterTokensAndBatchMates) {
  const auto network = attention<float>(everything<float>(), 12, 2);
  expect_causal(network, 12, 12);
  expect_no_batch_mates(network, 12, 12, {.causal = true});
}

template <class A, class B>
void expect_same(const A& a, const B& b) {
  ASSERT_EQ(a.layout().count(), b.layout().count());
  Trial<float> run(a, {2, 5}, 12, 12), other(b, {2, 5}, 12, 12);
  run.pass(a, moved(a));
  other.pass(b, moved(b));
  for (Index r = 0; r < 10; ++r)
    EXPECT_TRUE(same_bits(run.y.row(r), other.y.row(r), 12) && same_bits(run.dx.row(r), other.dx.row(r), 12));
}
// Entries that say what holds anyway change no bit; an absent one has no parameters.
TEST(AttentionEntries, NeutralEntries) {
  const auto plain = attention<float>(place(), 12, 2);
  expect_same(plain, attention<float>(place().score_scale(1 / std::sqrt(6.0)), 12, 2));
  const norma::When<LayerNorm<float>> absent(false, {});
  expect_same(plain, attention<float>(place().query(absent).key(absent).value(absent).before_output(absent), 12, 2));
}

TEST(AttentionEntries, Parameters) {
  const auto network = attention<float>(everything<float>(), 12, 2);
  for (const auto& [name, columns] : {std::pair{"query_entry.gamma", 6},
                                      {"key_entry.gamma", 6},
                                      {"key_entry.beta", 6},
                                      {"value_entry.gamma", 6},
                                      {"head_scale", 2},
                                      {"before_output.gamma", 12},
                                      {"before_output.beta", 12}})
    EXPECT_EQ(network.layout().find(name).at.columns, columns) << name;
  EXPECT_EQ(network.initialize(norma::Rng(1))["head_scale"](0, 1), 0.8f);
}

}  // namespace
