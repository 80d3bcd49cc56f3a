// SPDX-License-Identifier: MIT
#include "kernel_network.hpp"

namespace {

using namespace norma_test;
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
template <class F>
struct FeedForwardLaws : testing::Test {};
using Smooth = testing::Types<Of<norma::GELU>, Of<norma::GELUTanh>, Of<norma::SiLU>, Of<norma::SwiGLU>>;
TYPED_TEST_SUITE(FeedForwardLaws, Smooth);

TYPED_TEST(FeedForwardLaws, FloatAgreesWithDouble) {
  expect_float_agrees(TypeParam::template make<float>(12, 31), TypeParam::template make<double>(12, 31), 12, 12, 16);
  expect_float_agrees(TypeParam::template make<float>(21, 100), TypeParam::template make<double>(21, 100), 21, 21, 16);
}

TYPED_TEST(FeedForwardLaws, NoBatchMates) {
  expect_no_batch_mates(TypeParam::template make<float>(12, 31), 12, 12);
  expect_no_batch_mates(TypeParam::template make<double>(21, 300), 21, 21);
}

TYPED_TEST(FeedForwardLaws, HiddenIsFourTimesTheWidthUnlessSet) {
  EXPECT_EQ(TypeParam::template make<float>(12, 0).layout().find("up.weight").at.rows, 48);
  EXPECT_EQ(TypeParam::template make<float>(12, 31).layout().find("down.weight").at.columns, 31);
}

TEST(ReLU, FloatAgreesWithDouble) {
  expect_float_agrees(Of<norma::ReLU>::make<float>(12, 31), Of<norma::ReLU>::make<double>(12, 31), 12, 12, 16);
}

}  // namespace
