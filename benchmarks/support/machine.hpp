// SPDX-License-Identifier: MIT
// The machine, for the header of a benchmark.
#pragma once

#include <string>

namespace benchmarks {

/// Keeps this thread, and what threads it starts from now on, on `count` processors, or on as many as there are: so
/// that every implementation has as many, whatever its settings. BENCHMARK_CPU names the first; else it is the one that
/// the first call runs on. Returns a line for the header.
std::string pin_to_processors(int count);

/// Processor, caches, compiler and flags.
std::string machine();

/// Processor time of all other processes since the machine began, in seconds; 0 where it is unknown. Between two calls
/// it says whether a row was alone.
double seconds_of_others();

/// The C library chooses between ordinary stores, `rep movsb` and stores that bypass the caches by size, with limits
/// that it derives from the caches. Its loader prints them.
std::string copy_limits();

}  // namespace benchmarks
