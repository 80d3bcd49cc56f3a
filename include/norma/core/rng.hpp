// SPDX-License-Identifier: MIT
// Counter-based random numbers: a value depends on seed, stream and index only, never on the order of asking.
#pragma once

#include <norma/config.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// Philox 4x32 with 10 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011, section 4.2).
constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0], p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

/// A stream of independent random numbers, addressed by index.
class Rng {
 public:
  explicit constexpr Rng(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  /// The stream of a name: the same name draws the same numbers in any program. Streams of streams differ by their
  /// order.
  constexpr Rng stream(std::string_view name) const {
    std::uint64_t hash = 0xCBF29CE484222325 ^ stream_;  // FNV-1a, 64 bits, continued
    for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
    return Rng(seed_, hash);
  }

  /// Independent numbers for the same name and index: another attempt, another step.
  constexpr Rng substream(std::uint64_t i) const {
    // SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 17).
    std::uint64_t z = stream_ + (i + 1) * 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return Rng(seed_, z ^ (z >> 31));
  }

  /// Uniform in (0, 1), 52 bits, never an end of the interval.
  constexpr double uniform(std::uint64_t index) const { return pair(index)[0]; }
  /// Standard normal (Box-Muller).
  double normal(std::uint64_t index) const {
    const auto [u, v] = pair(index);
    return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586476925 * v);
  }

 private:
  constexpr std::array<double, 2> pair(std::uint64_t index) const {
    const auto bits = philox({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                              static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)},
                             {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
    return {open_unit(bits[0], bits[1]), open_unit(bits[2], bits[3])};
  }
  static constexpr double open_unit(std::uint32_t high, std::uint32_t low) {
    const std::uint64_t bits = (std::uint64_t{high} << 32 | low) >> 12;  // 52 bits, then the middle of the cell
    return (static_cast<double>(bits) + 0.5) * 0x1p-52;
  }

  std::uint64_t seed_, stream_;
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
