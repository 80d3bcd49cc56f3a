// SPDX-License-Identifier: MIT
#include <norma/sublayer/embedding.hpp>

#include <gtest/gtest.h>

#include "kernel_memory.hpp"

namespace {

using namespace norma_test;
using norma::Embedding;
using norma::Layout;

template <class Id>
void check(const std::vector<Id>& ids) {
  const Index vocabulary = 9, width = 21, rows = static_cast<Index>(ids.size());
  Embedding<double> embedding(vocabulary);
  auto layout = std::make_shared<Layout>();
  embedding.declare(*layout, width);
  norma::Parameters<double> weights(layout), gradients(layout);
  Random random(1);
  for (Index v = 0; v < vocabulary; ++v)
    for (Index i = 0; i < width; ++i)
      weights["weight"](v, i) = random.normal(), gradients["weight"](v, i) = static_cast<double>(v);
  Guarded<double> y(rows, width, 1, 2), dy(rows, width, 3, 1);
  dy.fill([&](Index, Index) { return random.normal(); });
  embedding.forward(weights.data(), ids.data(), y.view());
  EXPECT_TRUE(y.intact());
  for (Index r = 0; r < rows; ++r)
    for (Index i = 0; i < width; ++i)
      EXPECT_EQ(y(r, i), weights["weight"](static_cast<Index>(ids[static_cast<std::size_t>(r)]), i));
  embedding.backward(ids.data(), dy.in(), gradients.data());
  for (Index v = 0; v < vocabulary; ++v)
    for (Index i = 0; i < width; ++i) {
      double sum = static_cast<double>(v);  // what was there before stays: gradients add
      for (Index r = 0; r < rows; ++r)
        if (static_cast<Index>(ids[static_cast<std::size_t>(r)]) == v) sum += dy(r, i);
      EXPECT_EQ(gradients["weight"](v, i), sum) << v << " " << i;  // in the order of rows: the same bits
    }
}

// Ids that occur twice, once and never, of any integer type.
TEST(Embedding, ForwardAndBackward) {
  check<int>({3, 0, 3, 8, 1, 3, 5, 0, 3, 3});
  check<unsigned char>({3, 0, 3, 8, 1});
  check<std::int64_t>({8});
  check<int>({});
}

TEST(Embedding, IdsOutsideTheVocabulary) {
  const Embedding<float> embedding(9);
  const int good[] = {0, 8}, low[] = {0, -1}, high[] = {4, 2, 9};
  EXPECT_NO_THROW(embedding.validate("ids", good, 2));
  const auto message = [&](const int* ids, Index count) {
    try {
      embedding.validate("ids", ids, count);
    } catch (const norma::Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(message(low, 2).find("ids[1] is -1"), std::string::npos);
  EXPECT_NE(message(high, 3).find("ids[2] is 9, wanted 0 to 8"), std::string::npos);
}

}  // namespace
