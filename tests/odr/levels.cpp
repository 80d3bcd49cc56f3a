// SPDX-License-Identifier: MIT
// One program of units for three instruction sets (L01): each runs its own kernels, and their results agree.
#include "levels.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

int main() {
  const Level levels[] = {sse2_level(), avx2_level(), avx512_level()};
  const char* expected[] = {"sse2_", "avx2_", "avx512_"};
  // By type of what is stored. A 16-bit result may round to the neighbour; values here are below 8.
  const double bounds[] = {2e-5, 1e-13, 0x1p-5, 0x1p-8};
  std::vector<double> first[4], now[4];
  int failures = 0;
  for (int i = 0; i < 3; ++i) {
    if (std::strncmp(levels[i].name, expected[i], std::strlen(expected[i])) != 0) {
      std::printf("%s: is not %s\n", levels[i].name, expected[i]);
      ++failures;
    }
    for (int j = 0; j < i; ++j)
      if (levels[i].kernel == levels[j].kernel) {
        std::printf("%s and %s share a kernel\n", levels[i].name, levels[j].name);
        ++failures;
      }
    if (!levels[i].runs_here()) {
      std::printf("%s: skipped, this processor lacks it\n", levels[i].name);
      continue;
    }
    for (auto& r : now) r.assign(kResults, 0);
    levels[i].results(now[0].data(), now[1].data(), now[2].data(), now[3].data());
    if (i == 0)
      for (int t = 0; t < 4; ++t) first[t] = now[t];
    std::printf("%s:", levels[i].name);
    for (int t = 0; t < 4; ++t) {
      double worst = 0;
      for (std::size_t k = 0; k < now[t].size(); ++k) {
        const double error = std::fabs(now[t][k] - first[t][k]) / (1 + std::fabs(first[t][k]));
        if (!(error <= worst)) worst = error;
      }
      std::printf(" %.2g", worst);
      if (!(worst <= bounds[t])) ++failures;
    }
    std::printf(" of float, double, bfloat16, half apart from %s\n", levels[0].name);
  }
  return failures == 0 ? 0 : 1;
}
