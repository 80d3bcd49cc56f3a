// SPDX-License-Identifier: MIT
// What the units of the several-levels test say of themselves; plain types alone.
#pragma once

constexpr int kRows = 5, kWidth = 77, kResults = 6 * kRows * kWidth;
using Kernel = void (*)();

struct Level {
  const char* name;  ///< NORMA_TARGET
  bool (*runs_here)();
  void (*results)(double* of_float, double* of_double, double* of_bfloat16, double* of_half);  ///< [kResults] each
  Kernel kernel;  ///< one that all units instantiate
};
Level sse2_level();
Level avx2_level();
Level avx512_level();
