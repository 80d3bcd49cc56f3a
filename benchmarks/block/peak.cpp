// SPDX-License-Identifier: MIT
// The limit: multiply-adds on registers alone.
#include <norma/kernels/simd_memory.hpp>

#include "problem.hpp"

#include <cmath>
#include <ctime>
#include <memory>
#include <utility>

namespace block_benchmark {
namespace {

namespace simd = norma::simd;
using simd::Pack;

// As many independent chains as there are registers for, beside two operands: two units of latency 4 need 8 at least.
#if defined(NORMA_AVX512) || defined(NORMA_NEON)
constexpr Index kChains = 24;
#else
constexpr Index kChains = 12;
#endif
constexpr Index kSteps = 2000000;
constexpr float kFactor = 0.999f, kTerm = 0.001f;

/// What chain i starts from: the compiler merges chains that are equal.
float start(Index i) { return static_cast<float>(i + 2); }

/// What one chain comes to.
float chain(Index i, Index steps) {
  float v = start(i);
  for (Index s = 0; s < steps; ++s) v = std::fma(v, kFactor, kTerm);
  return v;
}

template <std::size_t... i>
float loop(Index steps, std::index_sequence<i...>) {
  Pack<float> v[] = {simd::broadcast(start(i))...};
  const Pack<float> factor = simd::broadcast(kFactor), term = simd::broadcast(kTerm);
  for (Index s = 0; s < steps; ++s) ((v[i] = simd::fma(v[i], factor, term)), ...);
  return (simd::reduce_add(v[i]) + ...) / static_cast<float>(simd::kLanes<float>);
}

}  // namespace

float fma_loop(Index steps) { return loop(steps, std::make_index_sequence<static_cast<std::size_t>(kChains)>()); }

double clock_ghz() {
  constexpr long kCount = 1000000;
  long x = 0, one = 1;
  // Of this thread: it may have to wait for a processor.
  const auto seconds = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double begin = seconds();
  for (long i = 0; i < kCount; ++i) {
    // Additions that the compiler cannot see through, each of the last one's result; of a register, because newer
    // processors add a constant without spending a cycle.
    asm volatile("" : "+r"(one));
    NORMA_UNROLL
    for (int j = 0; j < 16; ++j) {
      x += one;
      asm volatile("" : "+r"(x));
    }
  }
  return static_cast<double>(x) / (seconds() - begin) * 1e-9;
}

void add_peak(std::vector<Row>& rows, std::string& header) {
  for (const int threads : kThreads) {
    const double flop = 2.0 * kChains * simd::kLanes<float> * kSteps * threads;
    rows.push_back(
        {"peak", "machine", "fma", threads, std::to_string(kChains) + "x" + std::to_string(kSteps), flop, [threads] {
           const auto results = std::make_shared<std::vector<float>>(threads);
           Job job;
           job.run = [results, threads] {
#if defined(_OPENMP)
#pragma omp parallel for schedule(static, 1) num_threads(threads)
#endif
             for (int t = 0; t < threads; ++t) (*results)[static_cast<std::size_t>(t)] = fma_loop(kSteps);
           };
           job.check = [results] {
             float right = 0;
             for (Index i = 0; i < kChains; ++i) right += chain(i, kSteps);
             for (const float found : *results)
               if (!(std::abs(found - right) <= 1e-4f * right)) return std::string("a chain is missing");
             return std::string();
           };
           return job;
         }});
  }
  header += "peak: " + std::to_string(kChains) + " chains of " + std::to_string(simd::kLanes<float>) +
            " floats; clock now " + std::to_string(clock_ghz()) + " GHz\n";
}

}  // namespace block_benchmark
