// One program for every processor of a family: the widest LayerNorm that this one runs is chosen when it starts.
// The CMakeLists.txt beside it says how the levels are built.
#include "norm_level.hpp"

#include <cmath>
#include <cstdio>
#include <vector>

namespace {

struct Choice {
  const char* level;
  LayerNorm* layer_norm;
};
Choice choose() {
#if defined(__x86_64__)
  // What the flags of that level name.
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return {"avx512", layer_norm_avx512};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    return {"avx2", layer_norm_avx2};
#endif
  return {"lowest", layer_norm_lowest};
}

/// The largest difference from the equation in double.
double worst_error(LayerNorm* layer_norm) {
  const std::ptrdiff_t rows = 7, width = 259;
  std::vector<float> x(static_cast<std::size_t>(rows * width)), y(x.size());
  std::vector<float> gamma(static_cast<std::size_t>(width)), beta(gamma.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(7 * i));
  for (std::size_t i = 0; i < gamma.size(); ++i) {
    gamma[i] = 1 + 0.1f * std::sin(static_cast<float>(i));
    beta[i] = 0.1f * std::cos(static_cast<float>(i));
  }
  layer_norm(x.data(), gamma.data(), beta.data(), y.data(), rows, width);
  double worst = 0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
    const float* row = &x[r * gamma.size()];
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < gamma.size(); ++i) mean += row[i] / static_cast<double>(width);
    for (std::size_t i = 0; i < gamma.size(); ++i)
      variance += (row[i] - mean) * (row[i] - mean) / static_cast<double>(width);
    for (std::size_t i = 0; i < gamma.size(); ++i) {
      const double wanted = (row[i] - mean) / std::sqrt(variance + 1e-5) * gamma[i] + beta[i];
      const double error = std::fabs(wanted - y[r * gamma.size() + i]);
      if (!(error <= worst)) worst = error;
    }
  }
  return worst;
}

}  // namespace

int main() {
  const Choice choice = choose();
  const double chosen = worst_error(choice.layer_norm), lowest = worst_error(layer_norm_lowest);
  std::printf("chosen: %s, largest error %.2g; the lowest level's %.2g\n", choice.level, chosen, lowest);
  return chosen < 1e-5 && lowest < 1e-5 ? 0 : 1;
}
