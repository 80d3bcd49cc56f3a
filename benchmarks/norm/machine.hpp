// SPDX-License-Identifier: MIT
// The machine, for the header.
#pragma once

#include <string>

namespace norm_benchmark {

/// Keeps this process, and what threads it may start, on one processor: so that every implementation has one, whatever
/// its settings. NORM_BENCHMARK_CPU names it; else it is the one this runs on. Returns a line for the header.
std::string pin_to_one_processor();

/// Processor, caches, compiler, flags, and how memcpy writes.
std::string machine();

}  // namespace norm_benchmark
