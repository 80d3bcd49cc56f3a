// SPDX-License-Identifier: MIT
// Rows named operation/implementation/variant/dtype/threads/shape. See benchmarks/README.md.
#include "../support/machine.hpp"
#include "latency.hpp"
#include "problem.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <string>
#include <vector>

#if defined(_OPENMP)
#include <omp.h>
#endif

namespace block_benchmark {
namespace {

bool failed = false;
/// By row: what the check said. A row is checked once, however often it is repeated.
std::map<std::string, std::string> verdicts;

void use_threads(int threads) {
  benchmarks::pin_to_processors(threads);
#if defined(_OPENMP)
  omp_set_num_threads(threads);
#endif
  set_blas_threads(1);  // the rows of CBLAS itself say otherwise
}

/// The row's job, run once. Empty if its result is wrong: then the row is an error.
Job checked(benchmark::State& state, const Row& row) {
  const std::string name = row.name();
  use_threads(row.threads);
  // Google Benchmark calls a row several times to find how often it must be repeated.
  static std::string last_name;
  static Job last;
  if (last_name != name) {
    last = {};
    last_name.clear();
    last = row.make();
    last_name = name;
    last.run();
  }
  if (!verdicts.contains(name)) verdicts[name] = last.check();
  if (const std::string& verdict = verdicts[name]; !verdict.empty()) {
    failed = true;
    std::fprintf(stderr, "%s: wrong: %s\n", name.c_str(), verdict.c_str());
    state.SkipWithError(("wrong: " + verdict).c_str());
    return {};
  }
  return last;
}

template <class F>
void guarded(benchmark::State& state, const Row& row, const F& body) try {
  if (const Job job = checked(state, row); job.run) body(job);
} catch (const std::exception& e) {
  failed = true;
  std::fprintf(stderr, "%s: %s\n", row.name().c_str(), e.what());
  state.SkipWithError(e.what());
}

void measure(benchmark::State& state, const Row& row) {
  guarded(state, row, [&](const Job& job) {
    const double others = benchmarks::seconds_of_others();
    const auto begin = std::chrono::steady_clock::now();
    for (auto _ : state) {
      job.run();
      benchmark::ClobberMemory();
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    state.counters["others"] = (benchmarks::seconds_of_others() - others) / seconds.count();
    state.counters["flop_per_second"] = row.flop * static_cast<double>(state.iterations()) / seconds.count();
    // The clock rises and falls with what the rest of the machine does: right after the row, it is the row's.
    const double ghz = clock_ghz();
    state.counters["clock_ghz"] = ghz;
    state.counters["flop_per_cycle"] = state.counters["flop_per_second"] * 1e-9 / ghz;
  });
}

void measure_latency(benchmark::State& state, const Row& row) {
  guarded(state, row, [&](const Job& job) {
    const double others = benchmarks::seconds_of_others();
    const auto begin = std::chrono::steady_clock::now();
    for (auto _ : state) {
      const Latency found = latency(job.run, 100000);
      state.counters["median_ns"] = found.median_ns;
      state.counters["tail_ns"] = found.tail_ns;
      state.counters["loop_median_ns"] = found.loop_median_ns;
      state.counters["loop_tail_ns"] = found.loop_tail_ns;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    state.counters["others"] = (benchmarks::seconds_of_others() - others) / seconds.count();
  });
}

void add(const Row& row) {
  benchmark::RegisterBenchmark(row.name().c_str(), [row](benchmark::State& state) { measure(state, row); });
  if (row.operation != "small_block_forward" || row.shape != "1x1x32") return;
  Row alone = row;
  alone.operation = "latency";
  benchmark::RegisterBenchmark(alone.name().c_str(), [alone](benchmark::State& state) {
    measure_latency(state, alone);
  })->Iterations(1);
}

}  // namespace
}  // namespace block_benchmark

int main(int argc, char** argv) {
  using namespace block_benchmark;
  std::string header;
  for (const int threads : kThreads)
    header +=
        std::to_string(threads) + (threads == 1 ? " thread: " : " threads: ") + benchmarks::pin_to_processors(threads);
  benchmarks::pin_to_processors(1);
  header += benchmarks::machine();
  std::vector<Row> rows;
  add_peak(rows, header);
  add_norma(rows, header);
#if defined(BLOCK_BENCHMARK_NORMA_BLAS)
  add_norma_blas(rows, header);
#endif
#if defined(BLOCK_BENCHMARK_NORMA_ONEDNN)
  add_norma_onednn(rows, header);
#endif
  add_eigen(rows, header);
  add_onednn(rows, header);
  add_cblas(rows, header);
#if defined(BENCHMARK_TORCH)
  add_torch(rows, header);
#else
  header += "torch: absent when this was built\n";
#endif
  // Printed at the start, and kept in the JSON: a table is worth little without its machine.
  benchmark::AddCustomContext("block_benchmark", header);
  for (const Row& row : rows) add(row);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return failed ? 1 : 0;
}
