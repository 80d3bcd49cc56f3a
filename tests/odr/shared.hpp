// SPDX-License-Identifier: MIT
// What both units of the one-definition test see: everything in norma, and what each unit offers the other.
#pragma once

#include <norma/norma.hpp>
#include <norma/testing/allocation_counter.hpp>
#include <norma/testing/gradient_check.hpp>

/// A block's output and gradients for one fixed input, as sums, and what the block planned.
struct Outcome {
  double y = 0, dx = 0, gradients = 0;
  bool operator==(const Outcome&) const = default;
};

/// Instantiated in both units.
template <class Block>
inline Outcome run_block() {
  using T = typename Block::T;
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Block block({.width = 12, .heads = 3, .hidden = 21}, {.layer = 1, .layers = 2});
  const auto weights = block.initialize(norma::Rng(42));
  auto gradients = block.gradients();
  auto workspace = block.workspace({2, 5});
  Matrix x(10, 12), y(10, 12), dx(10, 12);
  for (norma::Index i = 0; i < x.size(); ++i)
    x.data()[i] = static_cast<T>(norma::Rng(1).normal(static_cast<std::uint64_t>(i)));
  block.forward(weights, x, y, workspace);
  block.backward(weights, x, x, dx, gradients, workspace);
  Outcome o;
  for (norma::Index i = 0; i < x.size(); ++i) {
    o.y += static_cast<double>(y.data()[i]) * (1 + static_cast<double>(i % 7));
    o.dx += static_cast<double>(dx.data()[i]) * (1 + static_cast<double>(i % 7));
  }
  for (T g : gradients.flat()) o.gradients += static_cast<double>(g) * static_cast<double>(g);
  return o;
}

using Shared = norma::Block<norma::PreLN>;
using OnlyFirst = norma::Block<norma::DeepNorm>;
using OnlySecond = norma::Block<norma::PostLN, double, norma::RMSNorm, norma::Attention, norma::SwiGLU>;

/// Of the second unit, which may be built with other flags.
struct Second {
  Outcome shared, only_second, only_first;
  const char* level;          ///< the instruction set its kernels use
  const void* error_handler;  ///< one variable in the whole program
  const void* version;
};
Second second_unit();
[[noreturn]] void second_unit_fails();

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
