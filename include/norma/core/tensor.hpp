// SPDX-License-Identifier: MIT
// The public surface: Eigen tensors and matrices, taken by their shape and never copied.
#pragma once

#include <norma/core/check.hpp>
#include <norma/core/view.hpp>

#include <string>
#include <type_traits>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// A caller's tensor as norma sees it: [batch, tokens, width], or [tokens, width] with batch 1. Accepted wherever an
/// Eigen tensor is: TensorView<float>{{batch, tokens}, {pointer, batch * tokens, width}}.
template <class T>
struct TensorView {
  Shape shape;
  MatrixView<T> matrix;
};

/// "[2, 5, 12]", for messages.
template <class Sizes = std::initializer_list<Index>>
std::string shape_text(const Sizes& sizes) {
  std::string text = "[";
  for (Index s : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(s);
  return text + "]";
}

namespace detail {

/// Eigen::Tensor and TensorMap, without including their header: data, dimension(i), and a layout constant.
template <class E>
concept TensorLike = requires(E& e) {
  e.data();
  e.dimension(0);
  E::NumDimensions;
};
/// Eigen::Matrix, Array, Map, Block with direct access to their memory.
template <class E>
concept MatrixLike = requires(E& e) {
  e.data();
  e.rows();
  e.cols();
  e.outerStride();
  E::IsRowMajor;
};

template <class T>
inline constexpr bool kIsTensorView = false;
template <class T>
inline constexpr bool kIsTensorView<TensorView<T>> = true;

template <class T>
inline constexpr bool kNever = false;
/// Whether a tensor with this data() can be seen as T: const only where T is.
template <class T, class Data>
inline constexpr bool kWritable = std::is_const_v<T> || !std::is_const_v<std::remove_pointer_t<Data>>;

template <class E>
struct ScalarOfTensor {
  using Type = std::remove_cv_t<std::remove_pointer_t<decltype(std::declval<E&>().data())>>;
};
template <class T>
struct ScalarOfTensor<TensorView<T>> {
  using Type = std::remove_cv_t<T>;
};
}  // namespace detail

/// The scalar type of whatever tensor_view takes.
template <class E>
using TensorScalar = typename detail::ScalarOfTensor<std::remove_cvref_t<E>>::Type;

/// View of an Eigen object. T is const for inputs. Needs a row-major tensor of rank 2 or 3, or a row-major matrix.
template <class T, class E>
TensorView<T> tensor_view(E& e) {
  using Plain = std::remove_const_t<E>;
  if constexpr (detail::kIsTensorView<Plain>) {
    static_assert(std::is_convertible_v<decltype(e.matrix), MatrixView<T>>,
                  "norma: the view's scalar type is not the block's, or an output's is const");
    return {e.shape, e.matrix};
  } else if constexpr (detail::TensorLike<Plain>) {
    constexpr int kRank = static_cast<int>(Plain::NumDimensions);
    static_assert(kRank == 2 || kRank == 3,
                  "norma: a tensor has rank 3 [batch, tokens, width] or rank 2 [tokens, width]");
    static_assert(static_cast<int>(Plain::Layout) == 1,
                  "norma: tensors are row-major; declare yours as Eigen::Tensor<T, 3, Eigen::RowMajor>");
    static_assert(std::is_same_v<std::remove_const_t<T>, std::remove_cv_t<std::remove_pointer_t<decltype(e.data())>>>,
                  "norma: the tensor's scalar type is not the block's");
    static_assert(detail::kWritable<T, decltype(e.data())>, "norma: an output may not be const");
    if constexpr (kRank == 3) {
      const Shape shape{static_cast<Index>(e.dimension(0)), static_cast<Index>(e.dimension(1))};
      return {shape, {e.data(), shape.rows(), static_cast<Index>(e.dimension(2))}};
    } else {
      const Shape shape{1, static_cast<Index>(e.dimension(0))};
      return {shape, {e.data(), shape.rows(), static_cast<Index>(e.dimension(1))}};
    }
  } else if constexpr (detail::MatrixLike<Plain>) {
    static_assert(Plain::IsRowMajor || Plain::IsVectorAtCompileTime,
                  "norma: matrices are row-major, one row per token; declare yours with Eigen::RowMajor");
    static_assert(std::is_same_v<std::remove_const_t<T>, std::remove_cv_t<std::remove_pointer_t<decltype(e.data())>>>,
                  "norma: the matrix's scalar type is not the block's");
    static_assert(detail::kWritable<T, decltype(e.data())>, "norma: an output may not be const");
    const Shape shape{1, static_cast<Index>(e.rows())};
    // A column vector is stored densely: its row stride is its inner stride.
    const Index stride = Plain::IsRowMajor ? e.outerStride() : e.innerStride();
    if (e.cols() > 1 && e.innerStride() != 1) fail("the elements of a matrix row must be adjacent (inner stride 1)");
    return {shape, {e.data(), shape.rows(), static_cast<Index>(e.cols()), stride}};
  } else {
    static_assert(
        detail::kNever<E>,
        "norma: pass an Eigen tensor or matrix (Tensor, TensorMap, Matrix, Map), not an expression; of a pointer, "
        "a norma::TensorView");
    return {};
  }
}

/// Stops unless the tensor has this shape and memory behind it.
template <class T>
void check_tensor(const char* name, const TensorView<T>& given, Shape shape, Index width) {
  const bool rows_fit = (given.shape.batch == shape.batch && given.shape.tokens == shape.tokens) ||
                        (given.shape.batch == 1 && given.shape.tokens == shape.rows());
  if (!rows_fit || given.matrix.columns != width)
    fail(std::string(name) + " has shape " + shape_text({given.shape.batch, given.shape.tokens, given.matrix.columns}) +
         ", wanted " + shape_text({shape.batch, shape.tokens, width}));
  if (given.matrix.data == nullptr && given.matrix.size() != 0) fail(std::string(name) + " has no memory (null)");
  if (given.matrix.rows != shape.rows())  // of a TensorView that a caller made
    fail(std::string(name) + " has a view of " + std::to_string(given.matrix.rows) + " rows, wanted " +
         std::to_string(shape.rows()));
  if (!std::is_const_v<T> && given.matrix.rows > 1 && given.matrix.stride < given.matrix.columns)
    fail(std::string(name) + " has rows that overlap: stride " + std::to_string(given.matrix.stride) +
         ", wanted at least " + std::to_string(given.matrix.columns));
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
