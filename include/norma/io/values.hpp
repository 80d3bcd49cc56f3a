// SPDX-License-Identifier: MIT
// The values of a file's tensors, as float or double.
#pragma once

#include <norma/core/float16.hpp>
#include <norma/io/safetensors_file.hpp>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace norma::inline v0_1::inline NORMA_TARGET {

namespace detail {

/// Calls visit(stored) with a value of the type in which this tensor's elements are stored; false where norma has none.
template <class Visit>
bool with_stored_type(DataType type, Visit&& visit) {
  switch (type) {
    case DataType::f16:
      visit(half());
      return true;
    case DataType::bf16:
      visit(bfloat16());
      return true;
    case DataType::f32:
      visit(float());
      return true;
    case DataType::f64:
      visit(double());
      return true;
    default:
      return false;
  }
}

/// Element i; the data may lie on any byte.
template <class Value>
Value stored_value(const FileTensor& tensor, Index i) {
  Value value;
  std::memcpy(&value, tensor.data.data() + i * static_cast<Index>(sizeof value), sizeof value);
  return value;
}

/// A finite number beyond the largest float; by its bits, which -ffast-math leaves alone.
inline bool beyond_float(double value) {
  const auto magnitude = [](double v) { return bits_as<std::uint64_t>(v) & ~(std::uint64_t{1} << 63); };
  return magnitude(value) > magnitude((std::numeric_limits<float>::max)()) &&
         magnitude(value) < magnitude(std::numeric_limits<double>::infinity());
}

/// Why this tensor's values cannot be had as T; empty where they can.
template <class T>
std::string problem_as(const FileTensor& tensor) {
  bool fits = true;
  const bool known = with_stored_type(tensor.type, [&](auto stored) {
    if constexpr (sizeof stored > sizeof(T))
      for (Index i = 0; i < tensor.size(); ++i) fits = fits && !beyond_float(stored_value<double>(tensor, i));
  });
  if (!known) return "has dtype " + std::string(info(tensor.type).name) + ", wanted F16, BF16, F32 or F64";
  return fits ? "" : "has a value that is too large for float";
}

/// The values of a tensor without such a problem.
template <class T>
void copy_values(const FileTensor& tensor, T* to) {
  with_stored_type(tensor.type, [&](auto stored) {
    for (Index i = 0; i < tensor.size(); ++i) to[i] = static_cast<T>(stored_value<decltype(stored)>(tensor, i));
  });
}

}  // namespace detail

/// The values of a tensor of F16, BF16 or F32, widened, or F64, rounded if T is float. \throws Error for another type,
/// or a finite value that float does not reach.
template <class T>
std::vector<T> values(const FileTensor& tensor) {
  const std::string problem = detail::problem_as<T>(tensor);
  if (!problem.empty()) fail("tensor " + detail::in_quotes(tensor.name) + " " + problem);
  std::vector<T> result(static_cast<std::size_t>(tensor.size()));
  detail::copy_values(tensor, result.data());
  return result;
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
