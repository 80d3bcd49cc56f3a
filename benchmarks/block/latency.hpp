// SPDX-License-Identifier: MIT
#pragma once

#include "problem.hpp"

namespace block_benchmark {

struct Latency {
  double median_ns, tail_ns;            ///< of the block; the tail is the 99.99th percentile
  double loop_median_ns, loop_tail_ns;  ///< of a register-only loop of about the same length
};

/// Times `calls` calls, each alone, and as many of the loop; in turns, so that both meet the same disturbances.
Latency latency(const std::function<void()>& call, Index calls);

}  // namespace block_benchmark
