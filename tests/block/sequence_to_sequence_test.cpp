// SPDX-License-Identifier: MIT
// Encoder and decoder with their ends.
#include <model_check.hpp>
#include <surface_helpers.hpp>

namespace {

using namespace norma;
using model::Pass;
using model::Values;
using surface::error_of;
using EB = Block<PostLN, double>;
using DB = DecoderBlock<PostLN, double>;
using Net = SequenceToSequence<EB, DB>;

const Dimensions kDims{.width = 9, .heads = 3, .hidden = 11};
constexpr Shape kSource{2, 4}, kTarget{2, 5}, kShape{2, 5, 4};
const std::vector<std::int32_t> kSourceIds{6, 2, 2, 5, 0, 1, 99, -4}, kTargetIds{1, 0, 6, 3, 2, 4, 4, 1 << 30, -7, 99},
    kTargets{0, 6, -1, 2, 4, 4, 1, 99, 99, 99};
const std::vector<Index> kLengths{5, 2}, kSourceLengths{4, 2};
const Tokens kFrom{kSourceIds.data(), kSource}, kTo{kTargetIds.data(), kTarget};
const Call kCall{.lengths = kLengths, .memory_lengths = kSourceLengths};
// The paper's: one matrix for both sides and the head, sinusoids, embeddings times sqrt(width).
const Vocabulary kPaper{.size = 7, .tied = true, .scale = 3, .positions = {PositionTable::sinusoid, 6}};

Pass pass_of(const Net& net, const Call& call, const Call& source_call = {}) {
  return {[&net, call, source_call](const Parameters<double>& weights, Workspace& workspace) {
            return net.forward(weights, kFrom, kTo, workspace, call, source_call);
          },
          [&net](const Parameters<double>& weights, TensorView<const double> dy, Parameters<double>& gradients,
                 Workspace& workspace) { net.backward(weights, dy, gradients, workspace); }};
}

TEST(SequenceToSequence, GradientsOfOneSharedMatrix) {
  const Net net(kDims, 1, 2, kPaper);
  auto workspace = net.workspace(kShape);
  model::expect_gradients(net, norma_test::moved(net), workspace, pass_of(net, kCall));
}
TEST(SequenceToSequence, GradientsOfPlacesOfEachSide) {
  const Net net(kDims, 1, 1,
                {.size = 7, .positions = {PositionTable::learned, 6}, .types = 2, .head = {.bias = true, .cap = 3}});
  auto workspace = net.workspace(kShape);
  const std::vector<Index> places{5, 1, 1, 0, 3}, source_places{2, 3, 4, 5};
  model::expect_gradients(net, norma_test::moved(net), workspace,
                          pass_of(net, {.lengths = kLengths, .positions = places, .memory_lengths = kSourceLengths},
                                  {.causal = true, .positions = source_places}));
}
TEST(SequenceToSequence, Memory) {
  Dimensions dims = kDims;
  dims.dropout = {.input = 0.3, .branch = 0.1};
  const Net net(dims, 2, 2, kPaper);
  Call call = kCall;
  call.training = true;
  Pass pass = pass_of(net, call);
  pass.forward = [&](const Parameters<double>& weights, Workspace& workspace) {
    net.forward(weights, kFrom, kTo, {kTargets.data(), kTarget}, workspace, call);
    return net.outputs(workspace);
  };
  model::expect_memory(net, norma_test::moved(net), kShape, pass);
}
/// The gradient of the loss is that of the logits, dy = (softmax - one at the target) / rows that count.
TEST(SequenceToSequence, GradientsOfTheLoss) {
  const Net net(kDims, 1, 1, kPaper);
  const auto weights = norma_test::moved(net);
  auto workspace = net.workspace(kShape);
  const auto y = net.forward(weights, kFrom, kTo, workspace, kCall);
  Eigen::Matrix<double, 10, 7, Eigen::RowMajor> dy = decltype(dy)::Zero();
  double loss = 0;
  for (Index r = 0; r < 10; ++r) {
    const std::int32_t target = kTargets[static_cast<std::size_t>(r)];
    if (target < 0 || target > 6) continue;
    double sum = 0;
    for (Index i = 0; i < 7; ++i) sum += dy(r, i) = std::exp(y.row(r)[i]);
    dy.row(r) /= 6 * sum;
    dy(r, target) -= 1.0 / 6;
    loss -= std::log(6 * (dy(r, target) + 1.0 / 6)) / 6;
  }
  auto wanted = net.gradients(), gradients = net.gradients();
  net.backward(weights, dy, wanted, workspace);
  EXPECT_NEAR(net.forward(weights, kFrom, kTo, {kTargets.data(), kTarget}, workspace, kCall), loss, 1e-12);
  net.backward(weights, gradients, workspace);
  gradients.for_each_parameter(
      [&](const ParameterInfo& info, auto map) { EXPECT_LT((map - wanted[info.name]).norm(), 1e-12) << info.name; });
  EXPECT_GT(wanted["embedding.weight"].norm(), 0.1);
}

/// The same network without its ends.
TEST(SequenceToSequence, IsTwoStacksBetweenAnEmbeddingAndAHead) {
  const Net net(kDims, 2, 1, {.size = 7, .tied = true, .scale = 3, .head = {.scale = 0.5}});
  const EncoderDecoder<EB, DB> stacks(kDims, 2, 1);
  const auto weights = norma_test::moved(net);
  auto inner = stacks.gradients();
  inner.for_each_parameter([&](const ParameterInfo& info, auto map) { map = weights[info.name]; });
  const auto embedded = [&](const std::vector<std::int32_t>& ids) {
    Values x(ids.size() * 9);
    for (std::size_t r = 0; r < ids.size(); ++r)
      if (ids[r] >= 0 && ids[r] < 7)
        for (Index i = 0; i < 9; ++i)
          x[r * 9 + static_cast<std::size_t>(i)] = 3 * weights["embedding.weight"](ids[r], i);
    return x;
  };
  Values source = embedded(kSourceIds), target = embedded(kTargetIds), y(target.size());
  auto a = net.workspace(kShape), b = stacks.workspace(kShape);
  const auto logits = net.forward(weights, kFrom, kTo, a, kCall);
  stacks.forward(inner, model::view(source, kSource), model::view(target, kTarget), model::view(y, kTarget), b, kCall);
  const Eigen::Map<const Eigen::Matrix<double, 10, 9, Eigen::RowMajor>> closed(y.data());
  const Eigen::Map<const Eigen::Matrix<double, 10, 7, Eigen::RowMajor>> got(logits.data);
  EXPECT_LT((got - 0.5 * closed * weights["embedding.weight"].transpose()).norm(), 1e-12);
}
TEST(SequenceToSequence, EncodesOnceForManyTargets) {
  const Net net(kDims, 2, 2, kPaper);
  const auto weights = norma_test::moved(net);
  auto workspace = net.workspace(kShape), inference = net.inference_workspace(kShape);
  const auto wanted = net.forward(weights, kFrom, kTo, workspace, kCall);
  Values memory(8 * 9, 99);
  const auto tensor = model::view(memory, kSource);
  net.encode(weights, kFrom, tensor, inference, {.lengths = kSourceLengths});
  const Call call{.lengths = kLengths, .memory = tensor, .memory_lengths = kSourceLengths};
  for (int i = 0; i < 2; ++i) {
    const auto y = net.decode(weights, kTo, inference, call);
    EXPECT_TRUE(norma_test::same_bits(y.data, wanted.data, wanted.size()));
  }
  // A shorter target has the same first rows: no token sees a later one.
  const Tokens shorter{kTargetIds.data(), {1, 3}};
  const auto y = net.decode(weights, shorter, inference, {.memory = TensorView<double>{{1, 4}, {memory.data(), 4, 9}}});
  EXPECT_TRUE(norma_test::same_bits(y.data, wanted.data, 3 * 7));
  auto gradients = net.gradients();
  net.decode(weights, kTo, workspace, call);
  EXPECT_EQ(error_of([&] { net.backward(weights, gradients, workspace); }),
            "backward: the last pass in this workspace ran one side alone, which leaves no tape");
}

TEST(SequenceToSequence, InitialWeightsHaveTheDecodersGain) {
  // T-Fixup scales embeddings, by both depths.
  const SequenceToSequence<Block<TFixup>, DecoderBlock<TFixup>> net(kDims, 3, 2, {.size = 7, .tied = true});
  EXPECT_NEAR(net.layout().find("embedding.weight").gain, std::pow(9 * 2, -0.25), 1e-12);
}
struct Halving {
  auto slots(auto at) const {
    return place().out(at.norm).after_step([](const ParameterInfo&, auto values) { values.row(0)[0] /= 2; });
  }
};
/// A policy's hook reaches each parameter once.
TEST(SequenceToSequence, AfterStepReachesEveryParameterOnce) {
  const SequenceToSequence<Block<Halving>, DecoderBlock<Halving>> net(
      kDims, 2, 1, {.size = 7, .positions = {PositionTable::learned, 4}, .head = {.bias = true}});
  const LanguageModel<Block<Halving>> model(kDims, 2, {.size = 7, .positions = {PositionTable::learned, 4}});
  const auto check = [](const auto& network) {
    auto weights = network.gradients();
    for (float& v : weights.flat()) v = 1;
    network.after_step(weights);
    weights.for_each_parameter([](const ParameterInfo& info, auto map) {
      EXPECT_EQ(map(0, 0), 0.5f) << info.name;
      EXPECT_EQ(map.sum(), static_cast<float>(map.size()) - 0.5f) << info.name;
    });
  };
  check(net);
  check(model);
}

TEST(SequenceToSequence, Errors) {
  const Net net(kDims, 1, 1, kPaper);
  const auto weights = norma_test::moved(net);
  auto workspace = net.workspace(kShape);
  auto gradients = net.gradients();
  Values memory(8 * 9, 99);
  const auto forward = [&](const Tokens& source, const Tokens& target, const Call& call = {}, const Call& own = {}) {
    return error_of([&] { net.forward(weights, source, target, workspace, call, own); });
  };
  EXPECT_EQ(forward({kSourceIds.data(), {1, 4}}, kTo, kCall), "source has 1 sequences, wanted 2 as target");
  EXPECT_EQ(forward({nullptr, kSource}, kTo, kCall), "source has no memory (null)");
  EXPECT_EQ(forward(kFrom, kTo, {.lengths = kLengths}), "source[6] is 99, wanted 0 to 6");
  EXPECT_EQ(forward(kFrom, kTo, {.memory_lengths = kSourceLengths}), "target[7] is 1073741824, wanted 0 to 6");
  EXPECT_EQ(forward(kFrom, kTo, kCall, {.lengths = kSourceLengths}),
            "the source's lengths are the call's memory_lengths");
  EXPECT_EQ(forward(kFrom, kTo, kCall, {.training = true}),
            "training, seed and step are the call's, for both stacks; leave them out of the source's");
  EXPECT_EQ(forward(kFrom, kTo, {.memory = model::view(memory, kSource)}),
            "memory is the encoder's output here; leave it out of the call");
  const std::vector<Index> beyond{5, 1};
  EXPECT_EQ(forward(kFrom, kTo, {.memory_lengths = beyond}), "memory_lengths[0] is 5, wanted 0 to 4");
  EXPECT_EQ(error_of([&] {
              net.forward(weights, kFrom, kTo, {kTargets.data(), kSource}, workspace, kCall);
            }),
            "targets has shape [2, 4], wanted [2, 5]");
  const auto backward = [&] { return error_of([&] { net.backward(weights, gradients, workspace); }); };
  EXPECT_EQ(backward(), "backward without a forward before it: nothing is in this workspace");
  EXPECT_EQ(forward(kFrom, kTo, kCall), "");
  EXPECT_EQ(backward(), "backward: the last forward had no targets; give backward the gradient of what that gave");
  EXPECT_EQ(error_of([&] { net.backward(weights, model::view(memory, kSource), gradients, workspace); }),
            "dy has shape [2, 4, 9], wanted [2, 5, 7]");
  EXPECT_EQ(gradients["embedding.weight"].norm(), 0);
  EXPECT_EQ(error_of([&] { net.decode(weights, kTo, workspace, kCall); }),
            "memory is missing: give it in the call, Call{.memory = encoded}");
  Values narrow(8 * 8, 99);
  EXPECT_EQ(error_of([&] {
              net.encode(weights, kFrom, model::view(narrow, kSource), workspace, {.lengths = kSourceLengths});
            }),
            "memory has shape [2, 4, 8], wanted [2, 4, 9]");
  EXPECT_EQ(error_of([&] { net.encode(weights, kFrom, model::view(memory, kSource), workspace); }),
            "source[6] is 99, wanted 0 to 6");
  EXPECT_EQ(memory, Values(8 * 9, 99));
  const auto make = [](const Vocabulary& options, int encoder, int decoder) {
    return error_of([&] { Net(kDims, encoder, decoder, options); });
  };
  EXPECT_EQ(make({.size = 0}, 1, 1), "vocabulary is 0, wanted at least 1");
  EXPECT_EQ(error_of([] { Net({.width = -9}, 1, 1, kPaper); }), "width is -9, wanted at least 1");
  EXPECT_EQ(make({}, 0, 1), "encoder.layers is 0, wanted at least 1");
  EXPECT_EQ(make({}, 1, 0), "decoder.layers is 0, wanted at least 1");
}

}  // namespace
