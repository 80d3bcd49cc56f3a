// SPDX-License-Identifier: MIT
// The same numbers for every implementation, whatever its type.
#pragma once

#include "../support/normal.hpp"
#include "problem.hpp"

#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

namespace block_benchmark {

/// Fills a tensor by its name. Norms and biases are away from 1 and 0, so that leaving one out is found; weights keep
/// the variance of what they multiply. Numbers are copies of one table, whose length is prime, so that rows differ:
/// interleaved rows are set up again and again, and that must be cheap.
template <class T>
void fill(std::string_view name, T* to, Index rows, Index columns) {
  static const std::vector<float> table = [] {
    benchmarks::Normal normal;
    std::vector<float> values(65537);
    for (float& v : values) v = static_cast<float>(normal());
    return values;
  }();
  const auto is = [&](std::string_view end) { return name.ends_with(end); };
  if (is("gamma") || is("beta") || is("bias")) {
    const double offset = is("gamma") ? 1 : 0;
    for (Index i = 0; i < rows * columns; ++i)
      to[i] = static_cast<T>(static_cast<float>(offset + 0.25 * std::cos(static_cast<double>(i) + offset)));
    return;
  }
  std::uint64_t at = 14695981039346656037u;  // FNV-1a: each name begins elsewhere in the table
  for (const char c : name) at = (at ^ static_cast<unsigned char>(c)) * 1099511628211u;
  at %= table.size();
  const float scale = is("weight") ? 1 / std::sqrt(static_cast<float>(columns)) : 1;
  for (Index i = 0; i < rows * columns; ++i) {
    to[i] = static_cast<T>(scale * table[at]);
    if (++at == table.size()) at = 0;
  }
}

template <class T>
std::vector<T> filled(std::string_view name, Index rows, Index columns) {
  std::vector<T> values(static_cast<std::size_t>(rows * columns));
  fill(name, values.data(), rows, columns);
  return values;
}

}  // namespace block_benchmark
