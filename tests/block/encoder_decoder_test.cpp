// SPDX-License-Identifier: MIT
#include "kernel_network.hpp"

namespace {

using namespace norma;
using norma_test::moved;

template <class T>
struct Data {
  Shape source_shape{2, 5}, shape{2, 7};
  std::vector<T> source, target, y, dy, d_source, d_target;
  std::vector<Index> lengths{3, 5};

  Data() : source(120), target(168), y(168), dy(168), d_source(120, 99), d_target(168, 99) {
    for (std::size_t i = 0; i < 120; ++i) source[i] = static_cast<T>(Rng(1).normal(i));
    for (std::size_t i = 0; i < 168; ++i)
      target[i] = static_cast<T>(Rng(2).normal(i)), dy[i] = static_cast<T>(Rng(3).normal(i));
  }
  static TensorView<T> view(Shape s, std::vector<T>& v) { return {s, {v.data(), s.rows(), 12}}; }
  template <class Net>
  void forward(const Net& net, const Parameters<T>& weights, Workspace& workspace) {
    net.forward(weights, view(source_shape, source), view(shape, target), view(shape, y), workspace,
                {.memory_lengths = lengths});
  }
  template <class Net>
  void backward(const Net& net, const Parameters<T>& weights, Parameters<T>& gradients, Workspace& workspace) {
    net.backward(weights, view(source_shape, source), view(shape, target), view(shape, dy),
                 view(source_shape, d_source), view(shape, d_target), gradients, workspace);
  }
};

template <class P>
class Pair : public ::testing::Test {};
using Policies = ::testing::Types<PreLN, PostLN, DeepNorm>;
TYPED_TEST_SUITE(Pair, Policies);

TYPED_TEST(Pair, GradientsOfBothSidesAndInputs) {
  const EncoderDecoder<Block<TypeParam, double>, DecoderBlock<TypeParam, double>> net(
      {.width = 12, .heads = 4, .hidden = 21}, 2, 2);
  auto weights = moved(net);
  Data<double> data;
  auto workspace = net.workspace({2, 7, 5});
  auto gradients = net.gradients();
  const auto loss = [&] {
    data.forward(net, weights, workspace);
    double sum = 0;
    for (std::size_t i = 0; i < data.y.size(); ++i) sum += data.y[i] * data.dy[i];
    return sum;
  };
  loss();
  data.backward(net, weights, gradients, workspace);
  norma::testing::GradientCheckOptions options;
  options.zero_by_theory = {"key.bias"};
  std::vector<norma::testing::TensorReport> reports;
  weights.for_each_parameter([&](const ParameterInfo& parameter, auto map) {
    const auto size = static_cast<std::size_t>(map.size());
    reports.push_back(norma::testing::check_tensor_gradient(
        parameter.name, {map.data(), size}, {gradients.data() + parameter.at.offset, size}, loss, options));
  });
  reports.push_back(norma::testing::check_tensor_gradient("source", data.source, data.d_source, loss, options));
  reports.push_back(norma::testing::check_tensor_gradient("target", data.target, data.d_target, loss, options));
  const auto report = norma::testing::judge(reports, options);
  EXPECT_TRUE(report.ok()) << report.text();
}

// The pair is an encoder, and a decoder on what it closes with: no other norm between.
TEST(EncoderDecoder, IsAnEncoderAndADecoderOnItsOutput) {
  using EB = Block<PreLN>;
  using DB = DecoderBlock<PreLN>;
  const Dimensions dims{.width = 12, .heads = 4, .hidden = 21};
  const EncoderDecoder<EB, DB> pair(dims, 2, 3);
  const Encoder<EB> encoder(dims, 2);
  const Decoder<DB> decoder(dims, 3);
  const auto weights = moved(pair);
  auto encoder_weights = encoder.gradients(), decoder_weights = decoder.gradients();
  encoder_weights.for_each_parameter([&](const ParameterInfo& p, auto map) { map = weights["encoder." + p.name]; });
  decoder_weights.for_each_parameter([&](const ParameterInfo& p, auto map) { map = weights["decoder." + p.name]; });
  Data<float> data;
  auto workspace = pair.workspace({2, 7, 5}), a = encoder.workspace({2, 5}), b = decoder.workspace({2, 7, 5});
  data.forward(pair, weights, workspace);
  std::vector<float> memory(120), y(168);
  encoder.forward(encoder_weights, data.view(data.source_shape, data.source), data.view(data.source_shape, memory), a,
                  {.lengths = data.lengths});
  decoder.forward(decoder_weights, data.view(data.shape, data.target), data.view(data.shape, y), b,
                  {.memory = data.view(data.source_shape, memory), .memory_lengths = data.lengths});
  EXPECT_EQ(y, data.y);
  auto inference = pair.inference_workspace({2, 7, 5});
  EXPECT_LT(inference.bytes(), workspace.bytes());
  const auto trained = data.y;
  data.forward(pair, weights, inference);
  EXPECT_EQ(data.y, trained);
}
// Case J07: N = M = 12.
TEST(EncoderDecoder, DeepNormsConstantsOfBothSides) {
  const EncoderDecoder<Block<DeepNorm>, DecoderBlock<DeepNorm>> net({.width = 48, .heads = 4}, 12, 12);
  const auto gain = [&](const char* name) { return net.layout().find(name).gain; };
  EXPECT_NEAR(gain("encoder.layers.3.attention.value.weight"), 0.4001982, 1e-7);
  EXPECT_NEAR(gain("decoder.layers.3.attention.value.weight"), 0.2886751, 1e-7);
  EXPECT_NEAR(gain("decoder.layers.3.cross_attention.output.weight"), 0.2886751, 1e-7);
  EXPECT_EQ(gain("decoder.layers.3.cross_attention.key.weight"), 1);
  EXPECT_NEAR(gain("decoder.layers.11.feed_forward.down.weight"), 0.2886751, 1e-7);
}

}  // namespace
