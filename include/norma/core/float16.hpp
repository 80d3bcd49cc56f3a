// SPDX-License-Identifier: MIT
// The 16-bit storage types. Arithmetic is in float; a value is rounded to nearest even when it is stored.
//
// The types are plain values, their conversions are instructions of whoever includes them: so all are inlined always,
// and no unit runs another one's.
#pragma once

#include <norma/config.hpp>

#include <cstdint>
#include <type_traits>

namespace norma::inline v0_1 {

/// std::bit_cast, which may be a function of its own where nothing is optimised.
template <class To, class From>
NORMA_INLINE constexpr To bits_as(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

/// The upper half of a float: its range, 8 bits of precision. Bits as in PyTorch, oneDNN and Eigen::bfloat16.
struct bfloat16 {
  std::uint16_t bits;

  bfloat16() = default;
  NORMA_INLINE constexpr explicit bfloat16(float v) : bits(round(bits_as<std::uint32_t>(v))) {}
  NORMA_INLINE constexpr explicit bfloat16(double v) : bfloat16(static_cast<float>(v)) {}
  NORMA_INLINE constexpr explicit operator float() const {
    return bits_as<float>(static_cast<std::uint32_t>(static_cast<std::uint32_t>(bits) << 16));
  }
  NORMA_INLINE constexpr explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
  static NORMA_INLINE constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 r(0.0f);
    r.bits = bits;
    return r;
  }

 private:
  static NORMA_INLINE constexpr std::uint16_t round(std::uint32_t v) {
    const bool nan = (v & 0x7FFFFFFFu) > 0x7F800000u;  // stays NaN, quiet
    return static_cast<std::uint16_t>((nan ? v | 0x00400000u : v + 0x7FFFu + (v >> 16 & 1u)) >> 16);
  }
};

/// IEEE 754 binary16: 11 bits of precision, largest 65504, smallest 2^-24.
struct half {
  std::uint16_t bits;

  half() = default;
  NORMA_INLINE constexpr explicit half(float v) : bits(round(v)) {}
  NORMA_INLINE constexpr explicit half(double v) : half(static_cast<float>(v)) {}
  NORMA_INLINE constexpr explicit operator float() const {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16, exponent = bits >> 10 & 31u,
                        fraction = bits & 0x3FFu;
    if (exponent == 0) {
      const float v = static_cast<float>(fraction) * 0x1p-24f;
      return sign != 0 ? -v : v;
    }
    if (exponent == 31)  // infinity; or NaN, quiet
      return bits_as<float>(sign | 0x7F800000u | (fraction != 0 ? 0x00400000u | fraction << 13 : 0u));
    return bits_as<float>(sign | (exponent + 112) << 23 | fraction << 13);
  }
  NORMA_INLINE constexpr explicit operator double() const { return static_cast<double>(static_cast<float>(*this)); }
  static NORMA_INLINE constexpr half from_bits(std::uint16_t bits) {
    half r(0.0f);
    r.bits = bits;
    return r;
  }

 private:
  static NORMA_INLINE constexpr std::uint16_t round(float value) {
    const auto v = bits_as<std::uint32_t>(value);
    const std::uint32_t sign = v >> 16 & 0x8000u, magnitude = v & 0x7FFFFFFFu;
    std::uint32_t r = 0;
    if (magnitude > 0x7F800000u)
      r = 0x7E00u | (magnitude >> 13 & 0x3FFu);
    else if (magnitude >= 0x477FF000u)  // 65520 and more
      r = 0x7C00u;
    else if (magnitude < 0x38800000u)  // below 2^-14; one half has its last place where these end, and rounds them
      r = bits_as<std::uint32_t>(bits_as<float>(magnitude) + 0.5f) - 0x3F000000u;
    else
      r = (magnitude - 0x38000000u + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
    return static_cast<std::uint16_t>(sign | r);
  }
};

template <class S>
inline constexpr bool kIs16Bit = std::is_same_v<S, bfloat16> || std::is_same_v<S, half>;

/// What values stored as S are computed in: float for the 16-bit types, else S itself.
template <class S>
using Compute = std::conditional_t<kIs16Bit<S>, float, S>;

}  // namespace norma::inline v0_1
