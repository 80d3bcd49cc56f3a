// SPDX-License-Identifier: MIT
#include <Eigen/Core>
#include <norma/core/tensor.hpp>
#include <string>
#include <unsupported/Eigen/CXX11/Tensor>
#include <vector>

#include <gtest/gtest.h>

namespace {

using norma::Index;
using norma::MatrixView;
using norma::overlap;
using norma::Shape;
using norma::tensor_view;
using norma::TensorView;
using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Element by element.
bool touch(const MatrixView<const float>& a, const MatrixView<const float>& b) {
  for (Index r = 0; r < a.rows; ++r)
    for (Index c = 0; c < a.columns; ++c)
      for (Index s = 0; s < b.rows; ++s)
        for (Index d = 0; d < b.columns; ++d)
          if (a.row(r) + c == b.row(s) + d) return true;
  return false;
}

TEST(MatrixView, RowsAndStrides) {
  float data[12];
  const MatrixView<float> m{data, 3, 2, 4};
  EXPECT_EQ(m.row(2), data + 8);
  EXPECT_EQ(m.size(), 6);
  EXPECT_FALSE(m.contiguous());
  const MatrixView<const float> rows = m.middle_rows(1, 2);
  EXPECT_EQ(rows.data, data + 4);
  EXPECT_EQ(rows.rows, 2);
  EXPECT_EQ(rows.stride, 4);
  EXPECT_TRUE((MatrixView<float>{data, 3, 4}.contiguous()));
}

// Every pair of blocks of one small matrix, and of rows with another stride.
TEST(Overlap, SaysWhetherABlockTouchesAnother) {
  std::vector<float> memory(64);
  int pairs = 0;
  for (Index stride : {4, 5})
    for (Index start = 0; start < 12; ++start)
      for (Index rows = 1; rows <= 3; ++rows)
        for (Index columns = 1; columns <= stride; ++columns)
          for (Index other = 0; other < 12; ++other)
            for (Index other_rows : {1, 3}) {
              const MatrixView<const float> a{&memory[static_cast<std::size_t>(start)], rows, columns, stride},
                  b{&memory[static_cast<std::size_t>(other)], other_rows, 2, stride};
              ASSERT_EQ(overlap(a, b), touch(a, b)) << start << " " << rows << "x" << columns << " and " << other << " "
                                                    << other_rows << "x2, stride " << stride;
              ++pairs;
            }
  EXPECT_GT(pairs, 5000);
}

// With two strides the answer may be too careful, never too careless.
TEST(Overlap, NeverMissesOneBetweenDifferentStrides) {
  std::vector<float> memory(64);
  for (Index start = 0; start < 10; ++start)
    for (Index other = 0; other < 10; ++other) {
      const MatrixView<const float> a{&memory[static_cast<std::size_t>(start)], 3, 2, 5},
          b{&memory[static_cast<std::size_t>(other)], 3, 2, 7};
      if (touch(a, b)) {
        ASSERT_TRUE(overlap(a, b)) << start << " " << other;
      }
    }
  const MatrixView<const float> a{&memory[0], 2, 4}, far{&memory[20], 2, 5}, none{&memory[0], 0, 4};
  EXPECT_FALSE(overlap(a, far));
  EXPECT_FALSE(overlap(a, none));
}

TEST(TensorView, ReadsPointerShapeAndStride) {
  Eigen::Tensor<float, 3, Eigen::RowMajor> t3(2, 5, 3);
  const TensorView<float> a = tensor_view<float>(t3);
  EXPECT_EQ(a.matrix.data, t3.data());
  EXPECT_EQ(a.shape, (Shape{2, 5}));
  EXPECT_EQ(a.matrix.rows, 10);
  EXPECT_EQ(a.matrix.columns, 3);
  EXPECT_EQ(a.matrix.stride, 3);
  const Eigen::Tensor<float, 2, Eigen::RowMajor> t2(5, 3);
  const TensorView<const float> b = tensor_view<const float>(t2);
  EXPECT_EQ(b.shape, (Shape{1, 5}));
  EXPECT_EQ(b.matrix.data, t2.data());
  RowMajor m(7, 10);
  auto block = m.block(1, 2, 5, 3);
  const TensorView<float> c = tensor_view<float>(block);
  EXPECT_EQ(c.shape, (Shape{1, 5}));
  EXPECT_EQ(c.matrix.data, &m(1, 2));
  EXPECT_EQ(c.matrix.columns, 3);
  EXPECT_EQ(c.matrix.stride, 10);
  // A column vector is rows of one element, whatever its storage order is called; a row vector is one row.
  Eigen::VectorXf column(6);
  const TensorView<float> d = tensor_view<float>(column);
  EXPECT_EQ(d.shape, (Shape{1, 6}));
  EXPECT_EQ(d.matrix.columns, 1);
  EXPECT_EQ(d.matrix.row(4), &column(4));
  Eigen::RowVectorXf row(6);
  EXPECT_EQ(tensor_view<float>(row).matrix.columns, 6);
  // A column of a row-major matrix: its elements lie a row apart.
  auto strided = m.col(4);
  EXPECT_EQ(tensor_view<float>(strided).matrix.row(3), &m(3, 4));
  // Seen from the other side, a column-major matrix is row-major.
  Eigen::MatrixXf features(3, 5);
  auto turned = features.transpose();
  const TensorView<float> e = tensor_view<float>(turned);
  EXPECT_EQ(e.shape, (Shape{1, 5}));
  EXPECT_EQ(e.matrix.row(4), &features(0, 4));
}

TEST(TensorView, ElementsOfARowMustBeAdjacent) {
  float data[64];
  using Strided = Eigen::Map<RowMajor, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>>;
  Strided m(data, 2, 3, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>(12, 2));
  try {
    tensor_view<float>(m);
    ADD_FAILURE() << "accepted";
  } catch (const norma::Error& e) {
    EXPECT_NE(std::string(e.what()).find("adjacent"), std::string::npos);
  }
}

std::string complaint(const TensorView<const float>& given, Shape shape, Index width) {
  try {
    norma::check_tensor("x", given, shape, width);
  } catch (const norma::Error& e) {
    return e.what();
  }
  return "";
}

TEST(CheckTensor, AcceptsRowsAsOneSequence) {
  float data[60];
  const auto given = [&](Shape s, Index width) { return TensorView<const float>{s, {data, s.rows(), width}}; };
  EXPECT_EQ(complaint(given({2, 5}, 6), {2, 5}, 6), "");
  EXPECT_EQ(complaint(given({1, 10}, 6), {2, 5}, 6), "");
  EXPECT_EQ(complaint(given({5, 2}, 6), {2, 5}, 6), "x has shape [5, 2, 6], wanted [2, 5, 6]");
  EXPECT_EQ(complaint(given({2, 5}, 3), {2, 5}, 6), "x has shape [2, 5, 3], wanted [2, 5, 6]");
  EXPECT_EQ(complaint(given({1, 9}, 6), {2, 5}, 6), "x has shape [1, 9, 6], wanted [2, 5, 6]");
  EXPECT_EQ(complaint({{2, 5}, {nullptr, 10, 6}}, {2, 5}, 6), "x has no memory (null)");
  EXPECT_EQ(complaint({{0, 5}, {nullptr, 0, 6}}, {0, 5}, 6), "");
}

// A view that a caller made may contradict itself.
TEST(CheckTensor, RowsMustFitTheShapeAndAnOutputsMayNotOverlap) {
  float data[60];
  EXPECT_EQ(complaint({{2, 5}, {data, 9, 6}}, {2, 5}, 6), "x has a view of 9 rows, wanted 10");
  EXPECT_EQ(complaint({{2, 5}, {data, 10, 6, 3}}, {2, 5}, 6), "");  // reading a row twice is no fault
  EXPECT_THROW(norma::check_tensor("y", TensorView<float>{{2, 5}, {data, 10, 6, 5}}, {2, 5}, 6), norma::Error);
  EXPECT_NO_THROW(norma::check_tensor("y", TensorView<float>{{1, 1}, {data, 1, 6, 0}}, {1, 1}, 6));
}

}  // namespace
