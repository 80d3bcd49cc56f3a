// SPDX-License-Identifier: MIT
#include "latency.hpp"

#include <algorithm>
#include <chrono>

namespace block_benchmark {
namespace {

template <class F>
double nanoseconds(const F& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

double percentile(std::vector<double>& sorted, double part) {
  std::sort(sorted.begin(), sorted.end());
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

}  // namespace

Latency latency(const std::function<void()>& call, Index calls) {
  volatile float kept = 0;
  const auto times = [&](Index count, const auto& f, std::vector<double>& to) {
    for (Index i = 0; i < count; ++i) to.push_back(nanoseconds(f));
  };
  std::vector<double> of_call, of_loop;
  of_call.reserve(static_cast<std::size_t>(calls));
  of_loop.reserve(static_cast<std::size_t>(calls));

  // How many steps take as long: what a few thousand of them need beyond what an empty measurement does.
  times(2000, call, of_call);
  const double wanted = percentile(of_call, 0.5);
  const auto loop_of = [&](Index steps) { return [&kept, steps] { kept = fma_loop(steps); }; };
  times(200, loop_of(0), of_loop);
  const double none = percentile(of_loop, 0.5);
  of_loop.clear();
  times(200, loop_of(2000), of_loop);
  const double step = (percentile(of_loop, 0.5) - none) / 2000;
  const Index steps = (std::max)(Index(0), static_cast<Index>((wanted - none) / step));
  of_call.clear();
  of_loop.clear();

  constexpr Index kTurn = 100;
  for (Index done = 0; done < calls; done += kTurn) {
    const Index count = (std::min)(kTurn, calls - done);
    times(count, call, of_call);
    times(count, loop_of(steps), of_loop);
  }
  return {percentile(of_call, 0.5), percentile(of_call, 0.9999), percentile(of_loop, 0.5), percentile(of_loop, 0.9999)};
}

}  // namespace block_benchmark
