// SPDX-License-Identifier: MIT
// What is measured: operations, shapes, types, and the buffers that every implementation is given.
#pragma once

#include <norma/core/float16.hpp>
#include <norma/core/shape.hpp>

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace norm_benchmark {

using norma::Index;

using norma::bfloat16;

/// Only the bits of bfloat16 are used here, so that the checks do not depend on the conversions of what they check.
inline double to_double(float v) { return static_cast<double>(v); }
inline double to_double(double v) { return v; }
inline double to_double(bfloat16 v) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(v.bits) << 16));
}
template <class T>
T from_double(double v) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(v));
    bfloat16 r{};
    r.bits = static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);  // to nearest, ties to even
    return r;
  } else {
    return static_cast<T>(v);
  }
}

/// gamma, beta and their gradients: float beside bf16 matrices, as mixed-precision training keeps them.
template <class T>
using Parameter = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;

template <class T>
inline constexpr const char* kTypeName = std::is_same_v<T, float>    ? "f32"
                                         : std::is_same_v<T, double> ? "f64"
                                                                     : "bf16";

enum class Pass { forward, forward_unstored, backward };

/// A norm, or with `residual` a norm of s = x + w. unstored: s is not wanted.
struct Operation {
  const char* name;
  bool rms;
  bool residual;
  Pass pass;

  bool forward() const { return pass != Pass::backward; }
  /// How many matrices the operation must read and write once.
  Index matrices() const {
    if (forward()) return residual ? (pass == Pass::forward ? 4 : 3) : 2;
    return residual ? 4 : 3;
  }
};

inline constexpr Operation kOperations[] = {
    {"layer_norm_forward", false, false, Pass::forward},
    {"layer_norm_backward", false, false, Pass::backward},
    {"rms_norm_forward", true, false, Pass::forward},
    {"rms_norm_backward", true, false, Pass::backward},
    {"residual_layer_norm_forward", false, true, Pass::forward},
    {"residual_layer_norm_forward_unstored", false, true, Pass::forward_unstored},
    {"residual_layer_norm_backward", false, true, Pass::backward},
    {"residual_rms_norm_forward", true, true, Pass::forward},
    {"residual_rms_norm_forward_unstored", true, true, Pass::forward_unstored},
    {"residual_rms_norm_backward", true, true, Pass::backward},
};

struct Extent {
  Index rows, width;
};

inline constexpr Extent kExtents[] = {{8, 768},     {64, 768},     {512, 768}, {2048, 1024}, {1024, 4096},
                                      {65536, 768}, {16384, 4096}, {257, 769}, {1000, 1}};

inline constexpr double kEps = 1e-5;

/// The same memory for every implementation. Matrices are [rows, width] without gaps; the others are [width].
template <class T>
struct Buffers {
  Extent extent;
  const T *x, *w;  ///< the input; with a residual the two terms of the sum
  const T* input;  ///< backward only: what the norm was applied to, x or the stored sum
  const T *dy, *ds;
  const Parameter<T>*gamma, *beta;
  T *y, *s, *dx;
  Parameter<T>*dgamma, *dbeta;  ///< zero before the first call; assigned or added to

  Index size() const { return extent.rows * extent.width; }
};

/// One timed call. Everything that a user does once (primitives, tensors, scratch, and forward's statistics for a
/// backward) is done when it is made. Empty: this implementation has no such operation.
using Call = std::function<void()>;

struct Implementation {
  const char* name;
  bool (*has)(const Operation&);
  // Null: the implementation does not take this type.
  Call (*f32)(const Operation&, const Buffers<float>&);
  Call (*f64)(const Operation&, const Buffers<double>&);
  Call (*bf16)(const Operation&, const Buffers<bfloat16>&);
  bool bf16_sums_in_bf16 = false;  ///< its gradients of gamma and beta are too inexact to be checked
};

// Each appends its implementations, and its lines for the header: version, threads, or why it is absent.
void add_norma(std::vector<Implementation>& implementations, std::string& header);
void add_eigen(std::vector<Implementation>& implementations, std::string& header);
void add_onednn(std::vector<Implementation>& implementations, std::string& header);
void add_torch(std::vector<Implementation>& implementations, std::string& header);

/// A table for each norm without residual and each type, of the worst errors; of those whose name contains `wanted`.
void print_errors(const std::vector<Implementation>& implementations, const std::string& wanted);

}  // namespace norm_benchmark
