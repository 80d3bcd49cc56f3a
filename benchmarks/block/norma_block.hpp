// SPDX-License-Identifier: MIT
// A block of norma with its weights, workspace and tensors, as a user would hold them.
#pragma once

#include <norma/norma.hpp>
#if defined(_OPENMP)
#include <norma/core/openmp.hpp>
#endif

#include "numbers.hpp"
#include "problem.hpp"

#include <optional>
#include <utility>
#include <vector>

namespace block_benchmark {

/// norma's own threads, or this one. `threads` above 1 only with OpenMP: kThreads.
inline norma::Executor executor(int threads) {
#if defined(_OPENMP)
  if (threads > 1) return norma::openmp(threads);
#endif
  static_cast<void>(threads);
  return {};
}

template <class Block>
class NormaBlock {
 public:
  using T = typename Block::T;

  NormaBlock(const Extent& e, int threads, bool training)
      : extent_(e),
        block_({.width = e.width, .heads = e.heads, .hidden = e.hidden}),
        weights_(block_.initialize(norma::Rng(1))),
        gradients_(training ? block_.gradients() : norma::Parameters<T>()),
        workspace_(training ? block_.workspace({.batch = e.batch, .tokens = e.tokens}, executor(threads))
                            : block_.inference_workspace({.batch = e.batch, .tokens = e.tokens}, executor(threads))),
        x_(filled<T>("x", e.rows(), e.width)),
        y_(x_.size()),
        dy_(training ? filled<T>("dy", e.rows(), e.width) : std::vector<T>()),
        dx_(dy_.size()) {
    weights_.for_each_parameter(
        [](const norma::ParameterInfo& p, auto map) { fill(p.name, map.data(), p.at.rows, p.at.columns); });
    if (!training) packed_.emplace(block_.pack(weights_));
  }
  void forward() {
    block_.forward(weights_, tensor(x_), tensor(y_), workspace_, {.packed = packed_ ? &*packed_ : nullptr});
  }
  /// As in a step of training: gradients of this pass alone.
  void forward_backward() {
    forward();
    gradients_.set_zero();
    block_.backward(weights_, tensor(x_), tensor(dy_), tensor(dx_), gradients_, workspace_);
  }
  /// What the last pass left.
  Tensors<T> results() const {
    Tensors<T> all{{"y", y_}, {"dx", dx_}};
    gradients_.for_each_parameter(
        [&](const norma::ParameterInfo& p, auto map) { all[p.name].assign(map.data(), map.data() + map.size()); });
    return all;
  }

 private:
  norma::TensorView<T> tensor(std::vector<T>& values) {
    return {{.batch = extent_.batch, .tokens = extent_.tokens}, {values.data(), extent_.rows(), extent_.width}};
  }

  Extent extent_;
  Block block_;
  norma::Parameters<T> weights_, gradients_;
  std::optional<norma::PackedWeights> packed_;  // in inference
  norma::Workspace workspace_;
  std::vector<T> x_, y_, dy_, dx_;
};

/// The placements that are measured: visit.template operator()<Block>(name).
template <class T, class F>
void for_each_placement(const F& visit) {
  visit.template operator()<norma::Block<norma::PreLN, T>>("PreLN");
  visit.template operator()<norma::Block<norma::PostLN, T>>("PostLN");
#if !defined(BLOCK_BENCHMARK_BACKEND)
  visit.template operator()<norma::Block<norma::DeepNorm, T>>("DeepNorm");
  visit.template operator()<norma::Block<norma::PreLN, T, norma::RMSNorm>>("PreLN_RMSNorm");
  visit.template operator()<norma::Block<norma::Sandwich, T>>("Sandwich");
  visit.template operator()<norma::Block<norma::PeriLN, T>>("PeriLN");
#endif
}

}  // namespace block_benchmark
