// SPDX-License-Identifier: MIT
// A DeepNet of 1000 layers, forward and backward: what it takes to plan, and what flows in it.
//
//   deep_net [layers] [width]
#include <norma/models/deep_net.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

/// The root of the mean square.
double size_of(norma::MatrixView<const float> m) {
  double sum = 0;
  for (norma::Index r = 0; r < m.rows; ++r)
    for (norma::Index i = 0; i < m.columns; ++i) sum += std::pow(static_cast<double>(m.row(r)[i]), 2);
  return std::sqrt(sum / static_cast<double>(m.size()));
}

}  // namespace

int main(int argc, char** argv) {
  const int layers = argc > 1 ? std::atoi(argv[1]) : 1000;
  const norma::Index width = argc > 2 ? std::atoi(argv[2]) : 32;
  const norma::Shape shape{.batch = 2, .tokens = 16};
  const auto model = norma::models::build(
      norma::models::DeepNet{.width = width, .heads = 2, .layers = layers, .hidden = 2 * width, .vocabulary = 256});

  const auto weights = model.initialize(norma::Rng(1));
  auto gradients = model.gradients();
  auto workspace = model.workspace(shape);
  std::printf("%d layers of width %td, %td parameters; %td x %td tokens need %.1f MB, without backward %.2f MB\n",
              layers, width, weights.count(), shape.batch, shape.tokens, static_cast<double>(workspace.bytes()) / 1e6,
              static_cast<double>(model.inference_workspace(shape).bytes()) / 1e6);

  std::vector<std::int32_t> ids(static_cast<std::size_t>(shape.rows() + 1));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * i * 7 % 256);
  const auto start = std::chrono::steady_clock::now();
  const double loss = model.forward(weights, {ids.data(), shape}, {ids.data() + 1, shape}, workspace);
  std::vector<double> streams;  // backward works in their memory
  for (int i = 0; i < layers; ++i) streams.push_back(size_of(model.stream(workspace, i)));
  model.backward(weights, gradients, workspace);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  bool finite = std::isfinite(loss);
  for (const float g : gradients.flat()) finite = finite && std::isfinite(g);
  for (const double s : streams) finite = finite && std::isfinite(s);
  std::printf("\n  layer   stream   gradient of the feed-forward's last matrix\n");
  for (int i = 0; i < layers; ++i) {
    if (i % ((layers + 8) / 9) != 0 && i + 1 < layers) continue;
    const auto& down = model.layout().find("layers." + std::to_string(i) + ".feed_forward.down.weight");
    std::printf("  %5d   %6.3f   %.2e\n", i + 1, streams[static_cast<std::size_t>(i)],
                size_of(down.at.in(static_cast<const float*>(gradients.data()))));
  }
  std::printf("\nloss %.3f, forward and backward %.2f s, %s\n", loss, seconds.count(),
              finite ? "every number finite" : "NOT FINITE");
  return finite ? 0 : 1;
}
