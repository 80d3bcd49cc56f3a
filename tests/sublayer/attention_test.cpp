// SPDX-License-Identifier: MIT
#include "kernel_network.hpp"

namespace {

using namespace norma_test;
using norma::Attention;
using norma::Standalone;

template <class T>
auto attention(Index width, Index heads) {
  return Standalone(Attention<T>({.width = width, .heads = heads}, {}), width);
}

// A bias on every key adds q . b to all scores of a query, which the softmax does not see.
TEST(Attention, Gradients) {
  for (const bool causal : {false, true}) {
    expect_gradients(attention<double>(12, 2), 12, {"key.bias"}, {.causal = causal});
    expect_gradients(attention<double>(21, 3), 21, {"key.bias"}, {.causal = causal});
    expect_gradients(attention<double>(12, 1), 12, {"key.bias"}, {.causal = causal});
  }
}

TEST(Attention, AgainstThePlainEquations) {
  const Index width = 12, heads = 2, n = 6, tokens = 7;
  const auto network = attention<double>(width, heads);
  const auto w = moved(network);
  for (const bool causal : {false, true}) {
    Trial<double> run(network, {2, tokens}, width, width);
    run.pass(network, w, {.causal = causal});
    const auto project = [&](const std::string& name, Index r, Index c) {
      double sum = w[name + ".bias"](0, c);
      for (Index i = 0; i < width; ++i) sum += run.x(r, i) * w[name + ".weight"](c, i);
      return sum;
    };
    for (Index r = 0; r < 2 * tokens; ++r) {
      std::vector<double> o(static_cast<std::size_t>(width));
      const Index first = r / tokens * tokens, last = causal ? r : first + tokens - 1;
      for (Index h = 0; h < heads; ++h) {
        std::vector<double> p;
        double sum = 0;
        for (Index j = first; j <= last; ++j) {
          double score = 0;
          for (Index c = h * n; c < (h + 1) * n; ++c) score += project("query", r, c) * project("key", j, c);
          sum += p.emplace_back(std::exp(score / std::sqrt(6.0)));
        }
        for (Index j = first; j <= last; ++j)
          for (Index c = h * n; c < (h + 1) * n; ++c)
            o[static_cast<std::size_t>(c)] += p[static_cast<std::size_t>(j - first)] / sum * project("value", j, c);
      }
      for (Index c = 0; c < width; ++c) {
        double y = w["output.bias"](0, c);
        for (Index i = 0; i < width; ++i) y += o[static_cast<std::size_t>(i)] * w["output.weight"](c, i);
        EXPECT_NEAR(run.y(r, c), y, 1e-12) << r << " " << c << " causal " << causal;
      }
    }
  }
}

TEST(Attention, FloatAgreesWithDouble) {
  for (const bool causal : {false, true}) {
    expect_float_agrees(attention<float>(12, 2), attention<double>(12, 2), 12, 12, 16, {.causal = causal});
    expect_float_agrees(attention<float>(21, 3), attention<double>(21, 3), 21, 21, 16, {.causal = causal});
  }
}

TEST(Attention, LaterTokensChangeNothing) {
  expect_causal(attention<float>(12, 2), 12, 12);
  expect_causal(attention<double>(21, 3), 21, 21);
}

TEST(Attention, NoBatchMates) {
  for (const bool causal : {false, true}) {
    expect_no_batch_mates(attention<float>(12, 2), 12, 12, {.causal = causal});
    expect_no_batch_mates(attention<double>(21, 3), 21, 21, {.causal = causal});
  }
}

TEST(Attention, HeadsMustDivideTheWidth) {
  for (const Index heads : {5, 0, -1, 24}) {
    try {
      attention<float>(12, heads);
      ADD_FAILURE() << heads;
    } catch (const norma::Error& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find(std::to_string(heads) + " heads"), std::string::npos) << text;
      if (heads > 0) {
        EXPECT_NE(text.find("width 12"), std::string::npos) << text;
      }
    }
  }
}

TEST(Attention, Parameters) {
  const auto network = attention<float>(12, 2);
  EXPECT_EQ(network.layout().count(), 4 * (144 + 12));
  for (const char* name : {"query", "key", "value", "output"}) {
    EXPECT_EQ(network.layout().find(std::string(name) + ".weight").at.rows, 12);
    EXPECT_EQ(network.layout().find(std::string(name) + ".bias").at.columns, 12);
  }
}

}  // namespace
