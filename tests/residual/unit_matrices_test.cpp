// SPDX-License-Identifier: MIT
// nGPT's hook on matrices of any size, against one vector after another.
#include <gtest/gtest.h>

#include <norma/residual/policy/ngpt.hpp>

#include <cmath>
#include <vector>

namespace {

using norma::Index;
using norma::Kind;
using norma::MatrixView;

/// What the hook makes of `rows` x `columns` within a wider buffer, whose column 0 and row 0 are zeros.
template <class T>
void check(Index rows, Index columns, Kind kind) {
  const Index stride = columns + 3;
  std::vector<T> values(static_cast<std::size_t>(rows * stride));
  for (Index r = 1; r < rows; ++r)
    for (Index c = 1; c < stride; ++c)
      values[static_cast<std::size_t>(r * stride + c)] =
          static_cast<T>(static_cast<double>((r * 31 + c * 17) % 23) - 11.25);
  auto wanted = values;
  const bool by_columns = kind == Kind::down;
  for (Index v = 0; v < (by_columns ? columns : rows); ++v) {
    const auto element = [&](Index i) -> T& {
      return wanted[static_cast<std::size_t>(by_columns ? i * stride + v : v * stride + i)];
    };
    double squares = 0;
    const Index count = by_columns ? rows : columns;
    for (Index i = 0; i < count; ++i)
      squares = std::fma(static_cast<double>(element(i)), static_cast<double>(element(i)), squares);
    for (Index i = 0; i < count && squares > 0; ++i)
      element(i) = static_cast<T>(static_cast<double>(element(i)) / std::sqrt(squares));
  }
  norma::ParameterInfo info{};
  info.kind = kind;
  norma::UnitMatrices{}(info, MatrixView<T>(values.data(), rows, columns, stride));
  EXPECT_EQ(values, wanted) << rows << " x " << columns;
}

TEST(UnitMatrices, AnySize) {
  for (const Kind kind : {Kind::down, Kind::up})
    for (const Index rows : {1, 2, 7})
      for (const Index columns : {1, 2, 15, 63, 64, 65, 129, 200}) {
        check<float>(rows, columns, kind);
        check<double>(rows, columns, kind);
        check<float>(columns, rows, kind);
      }
}
TEST(UnitMatrices, LeaveVectorsAndPositions) {
  for (const Kind kind : {Kind::norm, Kind::bias, Kind::scale, Kind::position}) {
    std::vector<float> values{3, 4};
    norma::ParameterInfo info{};
    info.kind = kind;
    norma::UnitMatrices{}(info, MatrixView<float>(values.data(), 1, 2));
    EXPECT_EQ(values, (std::vector<float>{3, 4}));
  }
}

}  // namespace
