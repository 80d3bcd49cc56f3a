// SPDX-License-Identifier: MIT
// The same stack run by this thread alone and by an executor: one line says how the results and the times compare.
#pragma once

#include <norma/norma.hpp>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <unsupported/Eigen/CXX11/Tensor>

using Tensor = Eigen::Tensor<float, 3, Eigen::RowMajor>;
using Stack = norma::Encoder<norma::Block<norma::PreLN>>;

struct Pass {
  Tensor y, dx;
  norma::Parameters<float> gradients;
  double milliseconds = 0;
};

/// Forward and backward on the executor's threads: it is given to the workspace, and to nothing else.
inline Pass run(const Stack& stack, const norma::Parameters<float>& weights, const Tensor& x, const Tensor& dy,
                const norma::Executor& executor) {
  auto workspace = stack.workspace({.batch = x.dimension(0), .tokens = x.dimension(1)}, executor);
  Pass p{Tensor(x.dimensions()), Tensor(x.dimensions()), stack.gradients()};
  for (int repeat = 0; repeat < 2; ++repeat) {  // the second, on memory that has been touched, is timed
    p.gradients = stack.gradients();
    const auto start = std::chrono::steady_clock::now();
    stack.forward(weights, x, p.y, workspace);
    stack.backward(weights, x, dy, p.dx, p.gradients, workspace);
    p.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  return p;
}

/// Returns the program's exit status: 0 if the executor's results are the serial ones to the last bit.
inline int compare(const char* name, const norma::Executor& executor) {
  const Stack stack({.width = 96, .heads = 4, .hidden = 384}, 3);
  const auto weights = stack.initialize(norma::Rng(42));
  Tensor x(3, 37, 96), dy(3, 37, 96);
  x.setRandom();
  dy.setRandom();
  const Pass serial = run(stack, weights, x, dy, {}), parallel = run(stack, weights, x, dy, executor);
  const auto same = [](const float* a, const float* b, norma::Index count) {
    return std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(float)) == 0;
  };
  const bool equal = same(serial.y.data(), parallel.y.data(), x.size()) &&
                     same(serial.dx.data(), parallel.dx.data(), x.size()) &&
                     same(serial.gradients.data(), parallel.gradients.data(), serial.gradients.size());
  std::printf("%s, %td workers: output and gradients %s the serial ones bit for bit; %.1f ms, serial %.1f ms\n", name,
              executor.workers, equal ? "equal" : "DIFFER FROM", parallel.milliseconds, serial.milliseconds);
  return equal ? 0 : 1;
}
