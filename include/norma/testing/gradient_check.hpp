// SPDX-License-Identifier: MIT
// Gradients against central differences, for norma's own tests and for yours. In double only.
//
// The loss is a weighted sum of the output, so its gradient with respect to the output is the weights. A tensor's error
// is
//
//   max |analytic - numeric| / max(max |analytic|, 1e-3 * largest gradient of the network)
//
// with fourth-order differences, plus the same for one random direction of the whole tensor.
#pragma once

#include <norma/core/parameters.hpp>
#include <norma/core/rng.hpp>
#include <norma/core/shape.hpp>
#include <norma/core/tensor.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace norma::inline v0_1::inline NORMA_TARGET::testing {

struct GradientCheckOptions {
  double step = 2e-4;
  double tolerance = 1e-6;
  /// Parameters whose gradient is zero by theory: names that end with one of these. Anything else must not be zero.
  std::vector<std::string> zero_by_theory{};
  /// At most this many elements of a tensor, evenly spaced; 0: all.
  Index samples = 0;
  std::uint64_t seed = 1;
};

/// What was found for one tensor.
struct TensorReport {
  std::string name;
  double largest = 0;     ///< max |analytic|
  double difference = 0;  ///< max |analytic - numeric| over the elements
  double direction = 0;   ///< |analytic - numeric| along a random direction of unit length
  double error = 0;       ///< as defined above
};

struct GradientReport {
  std::vector<TensorReport> tensors;
  std::vector<std::string> failures;  ///< a sentence each; empty: all is well
  double worst = 0;
  std::string worst_name;

  bool ok() const { return failures.empty(); }
  /// All failures in one text, for an assertion's message.
  std::string text() const {
    std::string all;
    for (const auto& f : failures) all += f + "\n";
    return all;
  }
};

namespace detail {
/// A figure in a message: 1.2e-05.
inline std::string figure(double x) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1e", x);
  return text;
}
}  // namespace detail

/// The larger of two; NaN once either is, for good.
inline double worse(double a, double b) { return std::isnan(a) || b <= a ? a : b; }

/// Fourth-order central difference of loss() with respect to the variable behind `set`.
inline double central_difference(const std::function<double(double)>& loss_at, double h) {
  return (8 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12 * h);
}

/// Compares `analytic` with differences of loss(), a function of `values`. Leaves `values` as they were.
inline TensorReport check_tensor_gradient(const std::string& name, std::span<double> values,
                                          std::span<const double> analytic, const std::function<double()>& loss,
                                          const GradientCheckOptions& options) {
  TensorReport r{name, 0, 0, 0, 0};
  for (double a : analytic) r.largest = std::max<double>(r.largest, std::fabs(a));
  const auto n = static_cast<Index>(values.size());
  const Index stride = options.samples > 0 ? std::max<Index>(1, (n + options.samples - 1) / options.samples) : 1;
  for (Index i = 0; i < n; i += stride) {
    const auto at = static_cast<std::size_t>(i);
    const double old = values[at];
    const double numeric = central_difference(
        [&](double h) {
          values[at] = old + h;
          return loss();
        },
        options.step);
    values[at] = old;
    r.difference = worse(r.difference, std::fabs(numeric - analytic[at]));
  }
  const Rng rng = Rng(options.seed).stream(name);
  std::vector<double> old(values.begin(), values.end()), direction(values.size());
  double length = 0, slope = 0;
  for (std::size_t i = 0; i < direction.size(); ++i) {
    direction[i] = rng.normal(i);
    length += direction[i] * direction[i];
  }
  length = length > 0 ? std::sqrt(length) : 1;
  for (std::size_t i = 0; i < direction.size(); ++i) {
    direction[i] /= length;
    slope += direction[i] * analytic[i];
  }
  const double numeric = central_difference(
      [&](double h) {
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = old[i] + h * direction[i];
        return loss();
      },
      options.step);
  std::copy(old.begin(), old.end(), values.begin());
  r.direction = std::fabs(numeric - slope);
  return r;
}

/// Fills in errors relative to the network's largest gradient and says what failed.
inline GradientReport judge(std::vector<TensorReport> tensors, const GradientCheckOptions& options) {
  GradientReport report;
  double largest = 0;
  for (const auto& t : tensors) largest = std::max<double>(largest, t.largest);
  for (auto& t : tensors) {
    const bool zero = std::any_of(options.zero_by_theory.begin(), options.zero_by_theory.end(),
                                  [&](const std::string& end) { return t.name.ends_with(end); });
    const double scale = std::max<double>(t.largest, 1e-3 * largest);
    const double difference = worse(t.difference, t.direction);
    t.error = scale > 0 ? difference / scale : difference;
    if (!(t.error <= options.tolerance))
      report.failures.push_back(t.name + ": gradient differs from central differences by " + detail::figure(t.error));
    if (zero && !(t.largest <= 1e-9 * largest))
      report.failures.push_back(t.name + ": gradient is zero by theory, but reaches " + detail::figure(t.largest));
    if (!zero && !(t.largest > 1e-9 * largest)) report.failures.push_back(t.name + ": gradient is zero");
    if (report.worst_name.empty() || (!std::isnan(report.worst) && !(t.error <= report.worst))) {
      report.worst = t.error;
      report.worst_name = t.name;
    }
  }
  report.tensors = std::move(tensors);
  return report;
}

/// Every parameter and the input of a network on double: Block, Encoder, Decoder, Standalone, or one of your own with
/// their surface. `weights` are used as they are: move them away from their initial values first, so that nothing is
/// zero by luck.
template <class Network, class... CallArgument>
GradientReport check_gradients(const Network& network, Parameters<double> weights, Shape shape, Index width_in,
                               Index width_out, const GradientCheckOptions& options = {}, const CallArgument&... call) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Rng rng(options.seed);
  Matrix x(shape.rows(), width_in), y(shape.rows(), width_out), dy(shape.rows(), width_out), dx(shape.rows(), width_in);
  const auto fill = [&](Matrix& m, const char* name) {
    for (Index i = 0; i < m.size(); ++i) m.data()[i] = rng.stream(name).normal(static_cast<std::uint64_t>(i));
  };
  fill(x, "x");
  fill(dy, "dy");
  fill(dx, "noise");  // backward must assign it
  auto workspace = network.workspace(shape);
  const auto as_tensor = [&](Matrix& m) { return TensorView<double>{shape, {m.data(), m.rows(), m.cols()}}; };
  const auto xt = as_tensor(x), yt = as_tensor(y), dyt = as_tensor(dy), dxt = as_tensor(dx);
  const auto loss = [&] {
    network.forward(weights, xt, yt, workspace, call...);
    double sum = 0;
    for (Index i = 0; i < y.size(); ++i) sum += y.data()[i] * dy.data()[i];
    return sum;
  };
  Parameters<double> gradients = network.gradients();
  gradients.for_each_parameter([&](const ParameterInfo& entry, auto map) {  // and add to these
    for (Index i = 0; i < map.size(); ++i)
      map.data()[i] = rng.stream(entry.name).uniform(static_cast<std::uint64_t>(i));
  });
  const Parameters<double> noise = gradients;
  loss();
  network.backward(weights, xt, dyt, dxt, gradients, workspace);
  for (Index i = 0; i < gradients.size(); ++i) gradients.data()[i] -= noise.data()[i];

  std::vector<TensorReport> tensors;
  weights.for_each_parameter([&](const ParameterInfo& entry, auto map) {
    const auto size = static_cast<std::size_t>(map.size());
    tensors.push_back(check_tensor_gradient(entry.name, {map.data(), size}, {gradients.data() + entry.at.offset, size},
                                            loss, options));
  });
  const auto size = static_cast<std::size_t>(x.size());
  tensors.push_back(check_tensor_gradient("x", {x.data(), size}, {dx.data(), size}, loss, options));
  return judge(std::move(tensors), options);
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET::testing
