// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <numbers>
#include <random>

namespace benchmarks {

/// Box and Muller's normal variates: the standard library's differ between implementations.
class Normal {
 public:
  double operator()() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }
  double uniform() { return (static_cast<double>(generator_() >> 11) + 0.5) * 0x1p-53; }

 private:
  std::mt19937_64 generator_{2024};
};

}  // namespace benchmarks
