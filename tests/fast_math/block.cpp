// SPDX-License-Identifier: MIT
// With -ffast-math: blocks against the same blocks without, and padding that holds NaN.
#include <plain_check.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "pass.hpp"

#if !defined(__FAST_MATH__)
#error "this unit is compiled with -ffast-math"
#endif

namespace {

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::fabs(b[i]));
    worst = std::max(worst, std::fabs(a[i] - b[i]));
  }
  return a.size() == b.size() && largest > 0 ? worst / largest : 1;
}

void agrees(Net net) {
  const Results plain = plain_pass(net, true);
  const auto near = [&](const Results& r, double tolerance) {
    return difference(r.y, plain.y) < tolerance && difference(r.dx, plain.dx) < tolerance &&
           difference(r.gradients, plain.gradients) < tolerance;
  };
  CHECK(near(pass<double>(net), 1e-12));
  CHECK(near(plain_pass(net, false), 1e-5));
  CHECK(near(pass<float>(net), 1e-5));
}

/// NaN in the padding of x and dy: y and dx are zero there, and elsewhere what clean padding gives, as are the
/// gradients.
void padding_does_not_leak() {
  const norma::Decoder<norma::Block<norma::PreLN>> net({.width = 12, .heads = 3, .hidden = 21}, 2);
  const auto weights = net.initialize(norma::Rng(1));
  auto workspace = net.workspace({3, 5});
  const norma::Index lengths[] = {3, 5, 0};
  constexpr std::size_t kSize = 3 * 5 * 12;
  std::vector<std::uint32_t> results[2];
  for (const std::uint32_t filling : {0u, 0x7FC00000u}) {
    float x[kSize], y[kSize], dy[kSize], dx[kSize];
    for (std::size_t i = 0; i < kSize; ++i) {
      const bool padding = static_cast<norma::Index>(i / 12 % 5) >= lengths[i / 60];
      x[i] = padding ? std::bit_cast<float>(filling) : std::sin(1.0f + 3.0f * static_cast<float>(i));
      dy[i] = padding ? std::bit_cast<float>(filling) : std::cos(1.0f + 3.0f * static_cast<float>(i));
    }
    auto gradients = net.gradients();
    const auto view = [&](float* p) { return norma::TensorView<float>{{3, 5}, {p, 15, 12}}; };
    net.forward(weights, view(x), view(y), workspace, {.causal = true, .lengths = lengths});
    net.backward(weights, view(x), view(dy), view(dx), gradients, workspace);
    auto& r = results[filling != 0];
    r.resize(2 * kSize + static_cast<std::size_t>(gradients.size()));
    std::memcpy(r.data(), y, sizeof y);
    std::memcpy(r.data() + kSize, dx, sizeof dx);
    std::memcpy(r.data() + 2 * kSize, gradients.data(), static_cast<std::size_t>(gradients.size()) * 4);
  }
  CHECK(results[0] == results[1]);
  for (std::size_t i = 0; i < 2 * kSize; ++i)
    if (static_cast<norma::Index>(i % kSize / 12 % 5) >= lengths[i % kSize / 60]) CHECK(results[1][i] == 0);
}

/// A row's bits are its own, although the compiler's vector of exponentials rounds unlike its single one.
void rows_stand_alone() {
  const norma::Standalone net(norma::SwiGLU<float>({.width = 5, .hidden = 7}), 5);
  const auto weights = net.initialize(norma::Rng(1));
  auto workspace = net.workspace({1, 9});
  auto gradients = net.gradients();
  float x[9 * 5], y[9 * 5], dx[9 * 5];
  for (int i = 0; i < 9 * 5; ++i) x[i] = 5 * std::sin(1.0f + 3.0f * static_cast<float>(i));
  const auto pass = [&](int row, norma::Index rows, float* out, float* d) {
    const auto view = [&](float* p) { return norma::TensorView<float>{{1, rows}, {p, rows, 5}}; };
    net.forward(weights, view(x + 5 * row), view(out), workspace);
    net.backward(weights, view(x + 5 * row), view(x + 5 * row), view(d), gradients, workspace);
  };
  pass(0, 9, y, dx);
  for (int row = 0; row < 9; ++row) {
    float one[5], d[5];
    pass(row, 1, one, d);
    CHECK(std::memcmp(one, y + 5 * row, sizeof one) == 0);
    CHECK(std::memcmp(d, dx + 5 * row, sizeof d) == 0);
  }
}

}  // namespace

void test_blocks() {
  agrees(Net::pre_ln);
  agrees(Net::deep_norm_swiglu);
  padding_does_not_leak();
  rows_stand_alone();
}
