// SPDX-License-Identifier: MIT
// What a policy may put inside attention.
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
template <class Table>
void check(const Table& table, std::vector<std::string> zero = {"key.bias"}) {
  expect_gradients(attention<double>(table, 12, 2), 12, zero);
  expect_gradients(attention<double>(table, 21, 3), 21, zero, {.causal = true});
}

TEST(AttentionEntries, Query) { check(place().query(LayerNorm<double>{})); }
// Behind a norm the bias of the key counts; the norm's own beta is now the constant that the softmax does not see.
TEST(AttentionEntries, Key) { check(place().key(LayerNorm<double>{}), {"key_entry.beta"}); }
TEST(AttentionEntries, KeyWithoutCentre) { check(place().key(RMSNorm<double>{}), {}); }
TEST(AttentionEntries, Value) { check(place().value(LayerNorm<double>{})); }
TEST(AttentionEntries, ScoreScale) { check(place().score_scale(0.7)); }
TEST(AttentionEntries, HeadScale) { check(place().head_scale(0.8)); }
TEST(AttentionEntries, BeforeOutput) { check(place().before_output(LayerNorm<double>{})); }
TEST(AttentionEntries, AModuleThatNeedsNoInput) {
  check(place().query(norma::Scale{0.5}).value(norma::Scale{2}).before_output(norma::Scale{3}));
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
TEST(AttentionEntries, AllTogether) { check(everything<double>(), {"key_entry.beta"}); }

}  // namespace
