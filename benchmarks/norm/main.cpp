// SPDX-License-Identifier: MIT
// Rows named operation/implementation/type/rows x width. See benchmarks/README.md.
#include "../support/machine.hpp"
#include "arena.hpp"
#include "oracle.hpp"
#include "problem.hpp"

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace norm_benchmark {
namespace {

Arena arena;
bool failed = false;
/// By row: what the check said. A row is checked once, however often it is repeated.
std::map<std::string, std::string> verdicts;

std::string row_name(const char* operation, const char* implementation, const char* type, Extent extent) {
  return std::string(operation) + "/" + implementation + "/" + type + "/" + std::to_string(extent.rows) + "x" +
         std::to_string(extent.width);
}

/// Processor time of the whole process, in seconds: Google Benchmark's column counts this thread alone, and one of the
/// libraries works in a thread of its own. Beside other load it is steadier than the time of the clock on the wall.
double process_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Times `work`, and leaves the counters.
template <class F>
void measure(benchmark::State& state, double bytes, const F& work) {
  work();
  const double start = process_seconds();
  for (auto _ : state) {
    work();
    benchmark::ClobberMemory();
  }
  const double seconds = (process_seconds() - start) / static_cast<double>(state.iterations());
  state.counters["bytes"] = bytes;
  state.counters["process_ns"] = 1e9 * seconds;
  state.counters["bytes_per_second"] = bytes / seconds;
}

template <class T>
double sum(const T* p, Index size) {
  double total = 0;
  for (Index i = 0; i < size; ++i) total += to_double(p[i]);
  return total;
}

template <class T>
std::string check(const Operation& operation, const Buffers<T>& b, const Call& call, bool check_sums) {
  poison(operation.forward() ? b.y : b.dx, b.size());
  if (operation.forward() && operation.residual && operation.pass == Pass::forward) poison(b.s, b.size());
  std::memset(b.dgamma, 0, sizeof(*b.dgamma) * static_cast<std::size_t>(b.extent.width));
  std::memset(b.dbeta, 0, sizeof(*b.dbeta) * static_cast<std::size_t>(b.extent.width));
  call();
  return wrong(operation, b, check_sums);
}

template <class T>
void row(benchmark::State& state, const std::string& name, const Operation& operation, Extent extent,
         Call (*make)(const Operation&, const Buffers<T>&), bool check_sums) try {
  const Buffers<T> b = arena.buffers<T>(operation, extent);
  const Call call = make(operation, b);
  if (!call) return state.SkipWithError("this library cannot do it");
  if (!verdicts.contains(name)) verdicts[name] = check(operation, b, call, check_sums);
  if (const std::string& verdict = verdicts[name]; !verdict.empty()) {
    failed = true;
    std::fprintf(stderr, "%s: wrong: %s\n", name.c_str(), verdict.c_str());
    return state.SkipWithError(("wrong: " + verdict).c_str());
  }
  const Index vectors = operation.forward() ? (operation.rms ? 1 : 2) : (operation.rms ? 2 : 3);
  const Index statistics = operation.rms ? 1 : 2;
  measure(state,
          static_cast<double>(operation.matrices() * b.size()) * sizeof(T) +
              static_cast<double>(vectors * extent.width + statistics * extent.rows) * sizeof(Parameter<T>),
          call);
  state.counters["check"] = sum(operation.forward() ? b.y : b.dx, b.size());
} catch (const std::exception& e) {
  failed = true;
  std::fprintf(stderr, "%s: %s\n", name.c_str(), e.what());
  state.SkipWithError(e.what());
}

/// The limit: as many elements copied.
template <class T>
void copy(benchmark::State& state, Extent extent) {
  const Buffers<T> b = arena.buffers<T>(kOperations[0], extent);
  const auto bytes = sizeof(T) * static_cast<std::size_t>(b.size());
  measure(state, 2 * static_cast<double>(bytes), [&] {
    T* to = b.y;
    benchmark::DoNotOptimize(to);  // else a copy of the same to the same place may be left out
    std::memcpy(to, b.x, bytes);
  });
  if (std::memcmp(b.y, b.x, bytes) != 0) {
    failed = true;
    return state.SkipWithError("wrong copy");
  }
  state.counters["check"] = sum(b.y, b.size());
}

template <class T>
void add_copies() {
  for (const Extent extent : kExtents)
    benchmark::RegisterBenchmark(row_name("copy", "memcpy", kTypeName<T>, extent).c_str(),
                                 [extent](benchmark::State& state) { copy<T>(state, extent); });
}

template <class T>
void add_rows(const Operation& operation, const Implementation& implementation,
              Call (*make)(const Operation&, const Buffers<T>&)) {
  if (make == nullptr) return;
  const bool check_sums = !std::is_same_v<T, bfloat16> || !implementation.bf16_sums_in_bf16;
  for (const Extent extent : kExtents) {
    const std::string name = row_name(operation.name, implementation.name, kTypeName<T>, extent);
    benchmark::RegisterBenchmark(name.c_str(), [name, operation, extent, make, check_sums](benchmark::State& state) {
      row<T>(state, name, operation, extent, make, check_sums);
    });
  }
}

}  // namespace
}  // namespace norm_benchmark

int main(int argc, char** argv) {
  using namespace norm_benchmark;
  std::string header = benchmarks::pin_to_processors(1) + benchmarks::machine() + benchmarks::copy_limits();
  std::vector<Implementation> implementations;
  add_norma(implementations, header);
  add_eigen(implementations, header);
#if defined(NORM_BENCHMARK_ONEDNN)
  add_onednn(implementations, header);
#else
  header += "onednn: absent when this was built\n";
#endif
#if defined(BENCHMARK_TORCH)
  add_torch(implementations, header);
#else
  header += "torch: absent when this was built\n";
#endif
  if (constexpr std::string_view kErrors = "--errors"; argc == 2 && std::string_view(argv[1]).starts_with(kErrors)) {
    std::printf("%s\n", header.c_str());
    const std::string wanted = argv[1] + kErrors.size();  // nothing, or =TEXT
    print_errors(implementations, wanted.starts_with('=') ? wanted.substr(1) : wanted);
    return 0;
  }
  // Printed at the start, and kept in the JSON: a table is worth little without its machine.
  benchmark::AddCustomContext("norm_benchmark", header);

  add_copies<float>();
  add_copies<double>();
  add_copies<bfloat16>();
  for (const Operation& operation : kOperations)
    for (const Implementation& implementation : implementations) {
      if (!implementation.has(operation)) continue;
      add_rows<float>(operation, implementation, implementation.f32);
      add_rows<double>(operation, implementation, implementation.f64);
      add_rows<bfloat16>(operation, implementation, implementation.bf16);
    }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return failed ? 1 : 0;
}
