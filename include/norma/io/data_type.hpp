// SPDX-License-Identifier: MIT
// The element types of a safetensors file. norma computes with the four floating-point types of 16 bits and more; the
// others it knows by their size alone, so that a file that holds them can be checked.
#pragma once

#include <norma/config.hpp>

#include <array>
#include <optional>
#include <string_view>
#include <type_traits>

namespace norma::inline v0_1 {

/// In the order in which the format's own writers sort tensors, the last first: wider types lie further in front.
enum class DataType {
  boolean,
  f4,
  f6_e2m3,
  f6_e3m2,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  c64,
  f64,
  i64,
  u64
};

struct DataTypeInfo {
  std::string_view name;  ///< as a file spells it
  int bits;               ///< of one element
};

inline constexpr std::array<DataTypeInfo, 22> kDataTypes{
    {{"BOOL", 8},    {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6},     {"U8", 8},          {"I8", 8},
     {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"I16", 16},
     {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},        {"U32", 32},        {"F32", 32},
     {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64}}};

constexpr const DataTypeInfo& info(DataType type) { return kDataTypes[static_cast<std::size_t>(type)]; }

/// The type of this name, if the format has one.
constexpr std::optional<DataType> data_type(std::string_view name) {
  for (std::size_t i = 0; i < kDataTypes.size(); ++i)
    if (kDataTypes[i].name == name) return static_cast<DataType>(i);
  return std::nullopt;
}

/// How a float or a double is stored.
template <class T>
inline constexpr DataType kDataTypeOf = std::is_same_v<T, double> ? DataType::f64 : DataType::f32;

}  // namespace norma::inline v0_1
