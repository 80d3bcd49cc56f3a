// SPDX-License-Identifier: MIT
// The 16-bit types written down a second time, from their definition and in double.
#pragma once

#include <norma/core/float16.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace norma_test {

template <class S>
struct Layout16 {
  static constexpr int kFraction = std::is_same_v<S, norma::half> ? 10 : 7;
  static constexpr unsigned kInfinity = 0x7FFFu >> kFraction << kFraction;
  static constexpr int kBias = static_cast<int>(kInfinity >> (kFraction + 1));

  static bool is_nan(unsigned bits) { return (bits & 0x7FFFu) > kInfinity; }
  /// Of a finite pattern, or the next power of two for infinity: so the step before it is as long as those below.
  static double magnitude(unsigned bits) {
    const int exponent = static_cast<int>((bits & 0x7FFFu) >> kFraction), least = exponent == 0 ? 1 : exponent;
    const double fraction = bits & ((1u << kFraction) - 1), leading = exponent == 0 ? 0 : 1u << kFraction;
    return std::ldexp(leading + fraction, least - kBias - kFraction);
  }
  static double value(unsigned bits) {
    const double v = (bits & 0x7FFFu) == kInfinity ? std::numeric_limits<double>::infinity() : magnitude(bits);
    return (bits & 0x8000u) != 0 ? -v : v;
  }
  /// The nearer of the two neighbours; between both, the even one.
  static unsigned nearest(float v) {
    const double size = std::fabs(static_cast<double>(v));
    unsigned low = 0, high = kInfinity;  // magnitude(low) <= size
    while (high - low > 1) {
      const unsigned middle = (low + high) / 2;
      (magnitude(middle) <= size ? low : high) = middle;
    }
    const double down = size - magnitude(low), up = magnitude(high) - size;
    const bool higher = up < down || (up == down && high % 2 == 0);
    return (std::signbit(v) ? 0x8000u : 0u) | (higher ? high : low);
  }
};

/// f(v) for all values of S, the middles between them, the floats beside those, every exponent of float and infinity.
template <class S, class F>
void for_floats_near(const F& f) {
  const auto both = [&](float v) { f(v), f(-v); };
  for (unsigned bits = 0; bits < Layout16<S>::kInfinity; ++bits) {
    const double a = Layout16<S>::magnitude(bits), b = Layout16<S>::magnitude(bits + 1);
    for (const double v : {a, (a + b) / 2}) {
      const float at = static_cast<float>(v);
      both(at), both(std::nextafter(at, 0.0f)), both(std::nextafter(at, std::numeric_limits<float>::infinity()));
    }
  }
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent)
    for (const std::uint32_t fraction : {0u, 1u, 0x7FFFu, 0x8000u, 0x8001u, 0x17FFFu, 0x18000u, 0x18001u, 0x1000u,
                                         0x3000u, 0x555555u, 0x2AAAAAu, 0x7FFFFFu})
      both(std::bit_cast<float>(exponent << 23 | fraction));
  both(std::numeric_limits<float>::infinity());
}

}  // namespace norma_test
