// SPDX-License-Identifier: MIT
// What a network whose inputs are not one tensor is put to: gradients of its parameters and of all that it read, memory
// that is planned and touched, allocations, and the same bits from any number of workers.
#pragma once

#include <norma/testing/allocation_counter.hpp>
#include <norma/testing/gradient_check.hpp>

#include <cstring>
#include <functional>

#include "../../examples/pool.hpp"
#include "kernel_network.hpp"

namespace model {

using norma::Index;
using norma::Parameters;
using norma::Shape;
using norma::TensorView;
using norma::Workspace;
using Values = std::vector<double>;

/// `count` normal numbers, the same for the same name.
inline Values numbers(Index count, const char* name) {
  Values v(static_cast<std::size_t>(count));
  const norma::Rng rng = norma::Rng(5).stream(name);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = rng.normal(i);
  return v;
}
inline TensorView<double> view(Values& v, Shape s) {
  return {{s.batch, s.tokens}, {v.data(), s.rows(), s.rows() > 0 ? static_cast<Index>(v.size()) / s.rows() : 0}};
}

/// One pass: forward gives the outputs, backward takes their gradient in the same memory order and writes the gradients
/// of what was read.
struct Pass {
  std::function<norma::MatrixView<const double>(const Parameters<double>&, Workspace&)> forward;
  std::function<void(const Parameters<double>&, TensorView<const double>, Parameters<double>&, Workspace&)> backward;
  /// What forward reads besides the weights, and where backward puts its gradient.
  struct Input {
    const char* name;
    Values* values;
    Values* gradient;
  };
  std::vector<Input> inputs{};
};

/// Sum of outputs times fixed numbers, as a dense matrix.
struct Weighted {
  Values dy;
  double operator()(norma::MatrixView<const double> y) {
    dy = numbers(y.size(), "dy");
    double sum = 0;
    for (Index r = 0; r < y.rows; ++r)
      for (Index i = 0; i < y.columns; ++i) sum += y.row(r)[i] * dy[static_cast<std::size_t>(r * y.columns + i)];
    return sum;
  }
};

/// Every parameter and input against central differences. Gradients are full of noise before: parameters' are added to,
/// inputs' assigned.
template <class Net>
void expect_gradients(const Net& net, Parameters<double> weights, Workspace& workspace, const Pass& pass,
                      std::vector<std::string> zero = {"key.bias"}) {
  norma::testing::GradientCheckOptions options;
  options.samples = 16;  // and the direction, of all elements
  options.zero_by_theory = std::move(zero);
  Weighted weighted;
  const auto loss = [&] { return weighted(pass.forward(weights, workspace)); };
  auto gradients = net.gradients();
  const auto noise = numbers(gradients.size(), "noise");
  gradients.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    for (Index i = 0; i < map.size(); ++i) map.data()[i] = noise[static_cast<std::size_t>(info.at.offset + i)];
  });
  const auto y = pass.forward(weights, workspace);
  weighted(y);
  pass.backward(weights, {{1, y.rows}, {weighted.dy.data(), y.rows, y.columns}}, gradients, workspace);
  std::vector<norma::testing::TensorReport> reports;
  weights.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    const auto size = static_cast<std::size_t>(map.size());
    double* const g = gradients.data() + info.at.offset;
    for (std::size_t i = 0; i < size; ++i) g[i] -= noise[static_cast<std::size_t>(info.at.offset) + i];
    reports.push_back(norma::testing::check_tensor_gradient(info.name, {map.data(), size}, {g, size}, loss, options));
  });
  for (const Pass::Input& input : pass.inputs)
    reports.push_back(norma::testing::check_tensor_gradient(input.name, *input.values, *input.gradient, loss, options));
  const auto report = norma::testing::judge(reports, options);
  EXPECT_TRUE(report.ok()) << report.text();
  testing::Test::RecordProperty("worst", norma::testing::detail::figure(report.worst));
}

/// Outputs and all gradients of a pass.
inline Values run(const Parameters<double>& weights, Parameters<double> gradients, Workspace& workspace,
                  const Pass& pass) {
  Weighted weighted;
  const auto y = pass.forward(weights, workspace);
  weighted(y);
  Values all;
  for (Index r = 0; r < y.rows; ++r) all.insert(all.end(), y.row(r), y.row(r) + y.columns);
  pass.backward(weights, {{1, y.rows}, {weighted.dy.data(), y.rows, y.columns}}, gradients, workspace);
  all.insert(all.end(), gradients.data(), gradients.data() + gradients.size());
  for (const Pass::Input& input : pass.inputs) all.insert(all.end(), input.gradient->begin(), input.gradient->end());
  return all;
}
inline bool same_bits(const Values& a, const Values& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

/// The workspace holds exactly what a pass of the kind that takes the most plans; nothing depends on what it held, and
/// all of it is written but for gaps; several workers give the same bits, inference the same outputs; and no pass
/// allocates. With another library's products all but the first two of these.
template <class Net>
void expect_memory(const Net& net, const Parameters<double>& weights, Shape shape, const Pass& pass) {
  constexpr bool kOwn = norma::kernels::kOwnProduct<double>;
  auto workspace = net.workspace(shape);
  const auto size = static_cast<std::size_t>(workspace.bytes());
  const Values wanted = run(weights, net.gradients(), workspace, pass);
  const auto usage = workspace.usage();
  EXPECT_EQ(usage.tape_bytes + usage.scratch_bytes, workspace.bytes()) << "planned and carved bytes differ";

  std::vector<bool> touched(size);
  for (const int fill : {0xFF, 0x5A}) {
    std::memset(workspace.data(), fill, size);
    EXPECT_TRUE(same_bits(run(weights, net.gradients(), workspace, pass), wanted)) << "fill " << fill;
    for (std::size_t i = 0; i < size; ++i) touched[i] = touched[i] || workspace.data()[i] != std::byte(fill);
  }
  // Between views, and inside of the structs of views, there are gaps: each less than a cache line.
  Index longest = 0, run_length = 0;
  for (const bool t : touched) longest = std::max(longest, run_length = t ? 0 : run_length + 1);
  if (kOwn) {
    EXPECT_LT(longest, norma::kAlignment) << "a planned view is never written";
  }

  Pool pool(3);
  auto parallel = net.workspace(shape, pool.executor());
  const Values in_parallel = run(weights, net.gradients(), parallel, pass);
  if (kOwn) {
    EXPECT_TRUE(same_bits(in_parallel, wanted));
  }
  auto inference = net.inference_workspace(shape);
  EXPECT_LT(inference.bytes(), workspace.bytes());
  const auto y = pass.forward(weights, inference);
  for (Index r = 0; r < y.rows; ++r)
    EXPECT_TRUE(norma_test::same_bits(y.row(r), wanted.data() + r * y.columns, y.columns)) << r;

  auto gradients = net.gradients();
  Weighted weighted;
  const auto trained = pass.forward(weights, workspace);
  weighted(trained);
  const TensorView<const double> dy{{1, trained.rows}, {weighted.dy.data(), trained.rows, trained.columns}};
  const norma::testing::AllocationCounter counter;
  for (int i = 0; i < 2; ++i) {
    pass.forward(weights, workspace);
    pass.backward(weights, dy, gradients, workspace);
    pass.forward(weights, inference);
  }
  if (kOwn) {
    EXPECT_EQ(counter.count(), 0);
  }
}

}  // namespace model
