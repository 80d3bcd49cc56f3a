// SPDX-License-Identifier: MIT
// Stacks of blocks of two kinds, and models that read a memory: learned queries, and tokens with blocks put between.
#include <model_check.hpp>
#include <surface_helpers.hpp>

namespace {

using namespace norma;
using model::Pass;
using model::Values;
using surface::error_of;

using Reading = DecoderBlock<PostLN, double>;
using Other = Block<PostLN, double>;
using Mixed = Alternating<Reading, Other>;
using QueryNet = QueryModel<Mixed>;
using Gated = CrossAttentionBlock<GatedCrossAttention, double>;
using Between = Before<Gated, Other>;
using Reader = LanguageModel<Between>;

constexpr Index kWidth = 9, kMemoryWidth = 7, kBatch = 2, kTokens = 5, kMemoryTokens = 4;
constexpr Shape kShape{kBatch, kTokens, kMemoryTokens}, kMemoryShape{kBatch, kMemoryTokens};
const Dimensions kDims{.width = kWidth, .heads = 3, .hidden = 11, .memory_width = kMemoryWidth, .memory_every = 2};
const std::vector<Index> kLengths{5, 2}, kMemoryLengths{3, 4};

/// A memory, with what is no number in its padding, and where its gradient goes.
struct MemoryTensor {
  Values values = model::numbers(kBatch * kMemoryTokens * kMemoryWidth, "memory"),
         gradient = model::numbers(kBatch * kMemoryTokens * kMemoryWidth, "noise");
  TensorView<double> view() { return model::view(values, kMemoryShape); }
  TensorView<double> d() { return model::view(gradient, kMemoryShape); }
};

/// A model's pass with memory; `given` as forward takes it.
template <class Net>
Pass pass_of(const Net& net, const typename Net::Given& given, MemoryTensor& memory, Call call = {}) {
  call.memory = memory.view();
  return {[&net, given, call](const Parameters<double>& weights, Workspace& workspace) {
            return net.forward(weights, given, workspace, call);
          },
          [&net, &memory](const Parameters<double>& weights, TensorView<const double> dy, Parameters<double>& gradients,
                          Workspace& workspace) {
            net.backward(weights, dy, gradients, workspace, {.memory = memory.d()});
          },
          {{"memory", &memory.values, &memory.gradient}}};
}

TEST(ModelMemory, ReadingLayersAreEverySecond) {
  const QueryNet net(kDims, 3, {.count = kTokens});
  for (int i = 0; i < 3; ++i) {
    const std::string name = "layers." + std::to_string(i) + ".cross_attention.key.weight";
    const bool reads = error_of([&] { net.layout().find(name); }).empty();
    EXPECT_EQ(reads, i != 1);
    if (reads) {
      EXPECT_EQ(net.layout().find(name).at.columns, kMemoryWidth);
    }
  }
}
/// What is shared in a block is shared in one of a layer's two alone.
TEST(ModelMemory, EachOfTwoBlocksHasItsOwn) {
  const Encoder<Before<CrossAttentionBlock<ReZero, double>, Block<ReZero, double>>> net(kDims, 1);
  EXPECT_NE(net.layout().find("layers.0.before.gate").at, net.layout().find("layers.0.gate").at);
}

TEST(ModelMemory, GradientsOfQueries) {
  const QueryNet net(kDims, 3, {.count = kTokens, .head = {.outputs = 4}});
  MemoryTensor memory;
  auto workspace = net.workspace(kShape);
  model::expect_gradients(net, norma_test::moved(net), workspace, pass_of(net, Batch{kBatch}, memory));
}
TEST(ModelMemory, GradientsOfBlocksPutBetween) {
  const Reader net(kDims, 3, {.size = 6});
  MemoryTensor memory;
  const std::vector<std::int32_t> ids{0, 5, 2, 1, 1, 3, 4, 99, 99, 99};
  auto workspace = net.workspace(kShape);
  const auto weights = norma_test::moved(net);
  // The memory's padding is zero in the check, for its gradient is; NaN there changes nothing.
  std::fill(memory.values.begin() + 3 * kMemoryWidth, memory.values.begin() + 4 * kMemoryWidth, 0);
  const Call call{.lengths = kLengths, .memory_lengths = kMemoryLengths};
  const Pass pass = pass_of(net, Tokens{ids.data(), {kBatch, kTokens}}, memory, call);
  model::expect_gradients(net, weights, workspace, pass);
  const Values wanted = model::run(weights, net.gradients(), workspace, pass);
  std::fill(memory.values.begin() + 3 * kMemoryWidth, memory.values.begin() + 4 * kMemoryWidth, NAN);
  EXPECT_TRUE(model::same_bits(model::run(weights, net.gradients(), workspace, pass), wanted));
}
TEST(ModelMemory, Memory) {
  Dimensions dims = kDims;
  dims.dropout = {.input = 0.3, .branch = 0.1};
  const QueryNet queries(dims, 3, {.count = kTokens, .head = {.outputs = 9}});
  MemoryTensor memory;
  const Call call{.lengths = kLengths, .memory_lengths = kMemoryLengths, .training = true, .seed = 2};
  const std::vector<std::int32_t> ids{0, 5, 2, 1, 1, 3, 4, 99, 99, 99}, targets(10, 8);
  Pass pass = pass_of(queries, Batch{kBatch}, memory, call);
  pass.forward = [&](const Parameters<double>& weights, Workspace& workspace) {
    Call c = call;
    c.memory = memory.view();
    queries.forward(weights, Batch{kBatch}, {targets.data(), {kBatch, kTokens}}, workspace, c);
    return queries.outputs(workspace);
  };
  model::expect_memory(queries, norma_test::moved(queries), kShape, pass);
  const Reader reader(dims, 2, {.size = 9});
  pass = pass_of(reader, Tokens{ids.data(), {kBatch, kTokens}}, memory, call);
  pass.forward = [&](const Parameters<double>& weights, Workspace& workspace) {
    Call c = call;
    c.memory = memory.view();
    reader.forward(weights, {ids.data(), {kBatch, kTokens}}, {targets.data(), {kBatch, kTokens}}, workspace, c);
    return reader.outputs(workspace);
  };
  model::expect_memory(reader, norma_test::moved(reader), kShape, pass);
}

/// Output of an Encoder on fixed numbers.
template <class Net>
Values output(const Net& net, const Parameters<double>& weights, const Call& call) {
  auto workspace = net.workspace(kShape);
  Values x = model::numbers(kBatch * kTokens * kWidth, "x"), y(x.size());
  net.forward(weights, model::view(x, kShape), model::view(y, kShape), workspace, call);
  return y;
}
/// The weights of `net` that have a name in `from`.
template <class Net>
Parameters<double> taken(const Net& net, const Parameters<double>& from) {
  auto weights = net.gradients();
  weights.for_each_parameter([&](const ParameterInfo& info, auto map) { map = from[info.name]; });
  return weights;
}
TEST(ModelMemory, OfReadingLayersAloneItIsAStackOfThem) {
  Dimensions dims = kDims;
  dims.memory_every = 1;
  const Encoder<Mixed> mixed(dims, 2);
  const Encoder<Reading> plain(dims, 2);
  MemoryTensor memory;
  const auto weights = norma_test::moved(mixed);
  const Call call{.memory = memory.view()};
  EXPECT_TRUE(model::same_bits(output(mixed, weights, call), output(plain, taken(plain, weights), call)));
}
TEST(ModelMemory, BehindClosedGatesAModelIsItself) {
  const Encoder<Between> between(kDims, 3);
  const Encoder<Other> host(kDims, 3);
  MemoryTensor memory;
  auto weights = norma_test::moved(between);
  const auto alone = output(host, taken(host, weights), {});
  EXPECT_FALSE(model::same_bits(output(between, weights, {.memory = memory.view()}), alone));
  int gates = 0;
  weights.for_each_parameter([&](const ParameterInfo& info, auto map) {
    if (info.name.find("before.") == std::string::npos || info.name.find("gate") == std::string::npos) return;
    map.setZero();
    ++gates;
  });
  EXPECT_EQ(gates, 4);  // of two sites before layers 1 and 3
  EXPECT_TRUE(model::same_bits(output(between, weights, {.memory = memory.view()}), alone));
}

/// A norm on what enters, and then the placement.
TEST(ModelMemory, WithEmbeddingNormIsThatNormAndThePlacement) {
  const Encoder<Block<WithEmbeddingNorm<PostLN>, double>> whole(kDims, 2);
  const Encoder<Other> rest(kDims, 2);
  const Standalone<LayerNorm<double>> norm({}, kWidth);
  const auto weights = norma_test::moved(whole);
  auto of_norm = norm.gradients();
  of_norm.for_each_parameter([&](const ParameterInfo& info, auto map) { map = weights["open." + info.name]; });
  EXPECT_EQ(whole.layout().count(), rest.layout().count() + norm.layout().count());
  Values x = model::numbers(kBatch * kTokens * kWidth, "x"), opened = x, y = x;
  auto a = norm.workspace(kShape), b = rest.workspace(kShape);
  norm.forward(of_norm, model::view(x, kShape), model::view(opened, kShape), a);
  rest.forward(taken(rest, weights), model::view(opened, kShape), model::view(y, kShape), b);
  EXPECT_TRUE(model::same_bits(y, output(whole, weights, {})));
}

TEST(ModelMemory, Errors) {
  Dimensions none = kDims;
  none.memory_every = 0;
  EXPECT_EQ(error_of([&] { QueryNet(none, 2, {.count = 3}); }), "memory_every is 0, wanted at least 1");
  EXPECT_EQ(error_of([&] { QueryNet(kDims, 2, {.count = 0}); }), "queries is 0, wanted at least 1");
  Dimensions negative = kDims;
  negative.memory_width = -7;
  EXPECT_EQ(error_of([&] { QueryNet(negative, 2, {.count = 3}); }), "memory_width is -7, wanted 0 or more");
  const QueryNet net(kDims, 2, {.count = kTokens});
  const auto weights = norma_test::moved(net);
  auto gradients = net.gradients();
  auto workspace = net.workspace(kShape);
  MemoryTensor memory;
  Values wide(kBatch * kMemoryTokens * kWidth), y(kBatch * kTokens * kWidth, 99);
  const auto forward = [&](Batch batch, const Call& call) {
    const auto message = error_of([&] { net.forward(weights, batch, model::view(y, kShape), workspace, call); });
    EXPECT_TRUE(message.empty() || y == Values(kBatch * kTokens * kWidth, 99)) << "written before the error";
    return message;
  };
  EXPECT_EQ(forward({kBatch}, {}), "memory is missing: give it in the call, Call{.memory = encoded}");
  EXPECT_EQ(forward({-1}, {.memory = memory.view()}), "batch is -1, wanted 0 or more");
  EXPECT_EQ(forward({kBatch}, {.memory = model::view(wide, kMemoryShape)}),
            "memory has shape [2, 4, 9], wanted [2, 4, 7]");
  const std::vector<float> single(kBatch * kMemoryTokens * kMemoryWidth);
  EXPECT_EQ(forward({kBatch}, {.memory = TensorView<const float>{kMemoryShape, {single.data(), 8, kMemoryWidth}}}),
            "memory is of another scalar type than the network");
  EXPECT_EQ(error_of([&] {
              Values both(kBatch * kTokens * kWidth);
              net.forward(weights, Batch{kBatch}, model::view(both, kShape), workspace,
                          {.memory = TensorView<double>{kMemoryShape, {both.data(), 8, kMemoryWidth}}});
            }),
            "y overlaps the memory");
  EXPECT_EQ(forward({kBatch}, {.memory = memory.view()}), "");
  const auto backward = [&](TensorView<double> d_memory) {
    return error_of([&] { net.backward(weights, model::view(y, kShape), gradients, workspace, {.memory = d_memory}); });
  };
  EXPECT_EQ(backward(model::view(wide, kMemoryShape)), "inputs.memory has shape [2, 4, 9], wanted [2, 4, 7]");
  EXPECT_EQ(backward(memory.view()), "inputs.memory overlaps the memory");
  EXPECT_EQ(gradients["queries.weight"].norm(), 0);
  EXPECT_EQ(backward(memory.d()), "");

  using Pair = EncoderDecoder<Other, Reading>;
  EXPECT_EQ(error_of([] { Pair(kDims, 1, 1); }), "memory_width is 7, wanted 0: the decoder reads the encoder");
}

/// A sum of sublayers, and a norm before one, say how wide a memory is that they read.
TEST(ModelMemory, OfASumOfSublayersAlone) {
  using Cross = CrossAttention<double>;
  using Chained = Chain<LayerNorm<double>, Cross>;
  const Dimensions dims{.width = 6, .heads = 2, .memory_width = kMemoryWidth};
  const Sum<Chained, Cross> sum({"a", "b"}, Chained({}, Cross(dims)), Cross(dims));
  const Standalone net(sum, 6);
  MemoryTensor memory;
  Values x = model::numbers(kBatch * kTokens * 6, "x"), dx = x;
  auto workspace = net.workspace(kShape);
  Values y(x.size());
  model::expect_gradients(
      net, norma_test::moved(net), workspace,
      {[&](const Parameters<double>& weights, Workspace& w) {
         net.forward(weights, model::view(x, kShape), model::view(y, kShape), w, {.memory = memory.view()});
         return MatrixView<const double>{y.data(), kBatch * kTokens, 6};
       },
       [&](const Parameters<double>& weights, TensorView<const double> dy, Parameters<double>& gradients,
           Workspace& w) {
         net.backward(weights, model::view(x, kShape), dy, model::view(dx, kShape), gradients, w, memory.d());
       },
       {{"x", &x, &dx}, {"memory", &memory.values, &memory.gradient}}});
}

}  // namespace
