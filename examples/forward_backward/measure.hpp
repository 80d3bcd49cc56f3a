// SPDX-License-Identifier: MIT
// Everything that is measured of one placement. Instantiated once per placement, in a file of its own.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <norma/norma.hpp>
#include <norma/testing/gradient_check.hpp>

#include "data.hpp"
#include "progress.hpp"
#include "row.hpp"

/// Xavier inside, with ends of their own: rows of the embedding have RMS 1, as in the original Transformer after its
/// factor sqrt(width); the head is small, so that the loss starts at the log of the classes.
struct Scheme {
  double head_std;
  double draw(const norma::ParameterInfo& p, const norma::Rng& rng, std::uint64_t i) const {
    if (p.kind == norma::Kind::embedding) return rng.normal(i);
    if (p.kind == norma::Kind::head) return head_std * rng.normal(i);
    return norma::XavierNormal{}.draw(p, rng, i);
  }
};

/// One input: token ids, or a stream that is embedded already.
template <class T>
struct Input {
  std::vector<std::int32_t> ids, targets;
  std::vector<T> x;  // noise only
  norma::Shape shape;

  Input(const Options& o, const std::string& text, long batch, long tokens, long classes, long seed)
      : shape{batch, tokens} {
    if (o.input == InputKind::text) {
      Batch b = windows(text, batch, tokens, seed);
      ids = std::move(b.ids);
      targets = std::move(b.targets);
    } else {
      targets = labels(batch * tokens, classes, seed);
      const norma::Rng rng = norma::Rng(static_cast<std::uint64_t>(seed)).stream("noise");
      x.resize(static_cast<std::size_t>(batch * tokens * o.width));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(rng.normal(i));
    }
  }
  template <class Model>
  double forward(const Model& model, const norma::Parameters<T>& weights, norma::Workspace& workspace) const {
    const norma::Tokens wanted{targets.data(), shape};
    if (x.empty()) return model.forward(weights, {ids.data(), shape}, wanted, workspace);
    return model.forward_embedded(weights, stream(), wanted, workspace);
  }
  /// What a placement that measures (Admin) does before training.
  template <class Model>
  void calibrate(const Model& model, norma::Parameters<T>& weights, norma::Workspace& workspace) const {
    if (x.empty())
      model.calibrate(weights, {ids.data(), shape}, workspace);
    else
      model.calibrate_embedded(weights, stream(), workspace);
  }

 private:
  norma::TensorView<const T> stream() const {
    return {shape, {x.data(), shape.rows(), static_cast<norma::Index>(x.size()) / shape.rows()}};
  }
};

inline long classes_of(const Options& o) { return o.input == InputKind::text ? 256 : 128; }
inline Scheme scheme_of(const Options& o) {
  return {o.input == InputKind::text ? 0.02 : 1 / std::sqrt(static_cast<double>(o.width))};
}
inline std::array<long, 3> shown_blocks(const Options& o) { return {0, (o.layers - 1) / 2, o.layers - 1}; }

template <class B>
norma::LanguageModel<B> make_model(const Options& o) {
  return {
      {.width = o.width, .heads = o.heads, .hidden = 4 * o.width}, static_cast<int>(o.layers), {.size = classes_of(o)}};
}

/// Loss, stream and gradients at init, averaged over seeds, and the time of a pass.
template <class B>
void measure_pass(const Options& o, const std::string& text, Progress& progress, Row& row) {
  using T = typename B::T;
  const auto model = make_model<B>(o);
  auto gradients = model.gradients();
  auto workspace = model.workspace({o.batch, o.tokens});
  row.parameters = model.layout().count();
  row.workspace_bytes = workspace.bytes();
  row.uniform_loss = std::log(static_cast<double>(classes_of(o)));
  std::vector<double> microseconds;
  for (long seed = 0; seed < o.seeds; ++seed) {
    auto weights = model.initialize(norma::Rng(static_cast<std::uint64_t>(seed)), scheme_of(o));
    const Input<T> input(o, text, o.batch, o.tokens, classes_of(o), seed);
    input.calibrate(model, weights, workspace);
    gradients.set_zero();
    row.loss += input.forward(model, weights, workspace) / static_cast<double>(o.seeds);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto s = model.stream(workspace, shown_blocks(o)[i]);
      const double mean_square = norma::kernels::dot(s, s) / static_cast<double>(s.size());
      row.stream_rms[i] += std::sqrt(mean_square) / static_cast<double>(o.seeds);
    }
    model.backward(weights, gradients, workspace);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto name = "layers." + std::to_string(shown_blocks(o)[i]) + ".feed_forward.down.weight";
      row.gradient_norm[i] += static_cast<double>(gradients[name].norm()) / static_cast<double>(o.seeds);
    }
    // The first pass has warmed the caches. At least three more, half a second at most for many.
    const auto start = std::chrono::steady_clock::now();
    for (int pass = 0;
         seed == 0 &&
         (pass < 3 || (pass < 25 && std::chrono::steady_clock::now() - start < std::chrono::milliseconds(500)));
         ++pass) {
      progress.show(row.placement + ": timing", pass / 25.0);
      const auto before = std::chrono::steady_clock::now();
      input.forward(model, weights, workspace);
      model.backward(weights, gradients, workspace);
      microseconds.push_back(
          std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - before).count());
    }
    progress.show(row.placement + ": seeds", static_cast<double>(seed + 1) / static_cast<double>(o.seeds));
  }
  std::nth_element(microseconds.begin(), microseconds.begin() + static_cast<long>(microseconds.size() / 2),
                   microseconds.end());
  row.microseconds_per_token = microseconds[microseconds.size() / 2] / static_cast<double>(o.batch * o.tokens);
}

/// Four elements of every tensor of the first, middle and last block, the embedding and the head, against central
/// differences. In double, from the same weights. Smooth everywhere: GELU. Elements without any gradient (bytes that do
/// not occur) are passed over.
template <class B>
void measure_gradient_error(const Options& o, const std::string& text, Progress& progress, Row& row) {
  static_assert(std::is_same_v<typename B::T, double>);
  const auto model = make_model<B>(o);
  // The weights of seed 0 as the pass above had them, rounded to its precision.
  auto weights = model.initialize(norma::Rng(0), scheme_of(o));
  if (o.precision == Precision::f32) weights = weights.template cast<float>().template cast<double>();
  auto gradients = model.gradients();
  const norma::Shape shape{1, std::min<long>(16, o.tokens)};
  auto workspace = model.workspace(shape);
  const Input<double> input(o, text, shape.batch, shape.tokens, classes_of(o), 0);
  input.calibrate(model, weights, workspace);
  const auto loss = [&] { return input.forward(model, weights, workspace); };
  loss();
  model.backward(weights, gradients, workspace);

  double largest = 0;
  for (double g : gradients.flat()) largest = std::max(largest, std::fabs(g));
  const auto sampled = [&](const norma::ParameterInfo& info) {
    if (!info.name.starts_with("layers.")) return true;
    for (const long block : shown_blocks(o))
      if (info.name.starts_with("layers." + std::to_string(block) + ".")) return true;
    return false;
  };
  const auto count = static_cast<double>(model.layout().entries().size());
  double done = 0;
  weights.for_each_parameter([&](const norma::ParameterInfo& info, auto values) {
    progress.show(row.placement + ": checking gradients", done++ / count);
    if (!sampled(info)) return;
    const double* analytic = gradients.data() + info.at.offset;
    std::vector<norma::Index> candidates;
    double tensor_largest = 0;
    for (norma::Index i = 0; i < values.size(); ++i) {
      tensor_largest = std::max(tensor_largest, std::fabs(analytic[i]));
      if (analytic[i] != 0) candidates.push_back(i);
    }
    const norma::Rng rng = norma::Rng(1).stream(info.name);
    double difference = 0;
    for (std::uint64_t k = 0; k < 4 && !candidates.empty(); ++k) {
      const auto pick = static_cast<std::size_t>(rng.uniform(k) * static_cast<double>(candidates.size()));
      double& value = values.data()[candidates[pick]];
      const double old = value;
      const double numeric = norma::testing::central_difference(
          [&](double h) {
            value = old + h;
            return loss();
          },
          2e-3);
      value = old;
      const double d = std::fabs(numeric - analytic[candidates[pick]]);
      if (!(d <= difference)) difference = d;
    }
    const double error = difference / std::max(tensor_largest, 1e-3 * largest);
    if (!(error <= row.gradient_error)) row.gradient_error = error;
  });
}

/// The whole row of one placement.
template <class Policy>
Row measure(const char* name, const Options& o, const std::string& text, Progress& progress) {
  Row row;
  row.placement = name;
  const bool noise = o.input == InputKind::noise, f64 = o.precision == Precision::f64;
  using norma::Attention, norma::Block, norma::LayerNorm, norma::ReLU;
  if (noise && f64)
    measure_pass<Block<Policy, double, LayerNorm, Attention, ReLU>>(o, text, progress, row);
  else if (noise)
    measure_pass<Block<Policy, float, LayerNorm, Attention, ReLU>>(o, text, progress, row);
  else if (f64)
    measure_pass<Block<Policy, double>>(o, text, progress, row);
  else
    measure_pass<Block<Policy, float>>(o, text, progress, row);
  measure_gradient_error<Block<Policy, double>>(o, text, progress, row);
  return row;
}
