// SPDX-License-Identifier: MIT
// One transformer block, forward and backward: the README's first example, and what came out.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <norma/norma.hpp>
#include <unsupported/Eigen/CXX11/Tensor>

using Block = norma::Block<norma::DeepNorm>;  // or PreLN, PostLN

int main() {
  Block block({.width = 256, .heads = 4, .hidden = 1024}, {.layer = 1, .layers = 12});
  auto weights = block.initialize(norma::Rng(42));                // DeepNorm's beta is applied here
  auto gradients = block.gradients();                             // same layout as weights, zero
  auto workspace = block.workspace({.batch = 2, .tokens = 128});  // all memory, planned once

  Eigen::Tensor<float, 3, Eigen::RowMajor> x(2, 128, 256), y(2, 128, 256), dy(2, 128, 256), dx(2, 128, 256);
  for (norma::Index i = 0; i < x.size(); ++i) {
    x.data()[i] = static_cast<float>(norma::Rng(1).normal(static_cast<std::uint64_t>(i)));
    dy.data()[i] = static_cast<float>(norma::Rng(2).normal(static_cast<std::uint64_t>(i)));
  }
  block.forward(weights, x, y, workspace);
  block.backward(weights, x, dy, dx, gradients, workspace);

  const auto rms = [](const auto& tensor) {
    double sum = 0;
    for (norma::Index i = 0; i < tensor.size(); ++i) sum += std::pow(static_cast<double>(tensor.data()[i]), 2);
    return std::sqrt(sum / static_cast<double>(tensor.size()));
  };
  std::printf("DeepNorm block, layer 1 of 12: %td parameters, %td bytes of workspace for 2 x 128 tokens\n\n",
              weights.count(), workspace.bytes());
  std::printf("root mean square of x %.4f, y %.4f, dy %.4f, dx %.4f\n\n", rms(x), rms(y), rms(dy), rms(dx));
  std::printf("%-28s %-12s %12s %12s\n", "parameter", "shape", "norm", "gradient");
  weights.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    char shape[32];
    std::snprintf(shape, sizeof(shape), "%td x %td", map.rows(), map.cols());
    std::printf("%-28s %-12s %12.4f %12.4f\n", info.name.c_str(), shape, map.norm(), gradients[info.name].norm());
  });
  // Not finite: something is broken, and the test that runs this example says so.
  return std::isfinite(rms(y)) && std::isfinite(rms(dx)) && std::fabs(rms(y) - 1) < 0.01 ? 0 : 1;
}
