// SPDX-License-Identifier: MIT
// Models of tokens: what can stand between ids and the stream, and between the stream and the outputs.
#include <model_check.hpp>
#include <surface_helpers.hpp>

namespace {

using namespace norma;
using model::Pass;
using model::Values;
using surface::error_of;
using Net = LanguageModel<Block<PreLN, double>>;
using Activation = HeadTransform::Activation;

constexpr Shape kShape{3, 5};
const Dimensions kDims{.width = 9, .heads = 3, .hidden = 11};
// In the padding lies what is no id.
const std::vector<std::int32_t> kIds{1, 0, 6, 3, 2, 4, 4, 1 << 30, -7, 1 << 30, 9, 9, 9, 9, 9},
    kTypes{0, 1, 1, 2, 0, 2, 1, 77, 77, 77, -1, -1, -1, -1, -1};
const std::vector<Index> kLengths{5, 2, 0};
const std::vector<std::int32_t> kWhole{1, 0, 6, 3, 2, 4, 4, 5, 2, 2, 0, 1, 2, 3, 4};

Pass pass_of(const Net& net, const Tokens& tokens, const Call& call = {}) {
  return {[&net, tokens, call](const Parameters<double>& weights, Workspace& workspace) {
            return net.forward(weights, tokens, workspace, call);
          },
          [&net](const Parameters<double>& weights, TensorView<const double> dy, Parameters<double>& gradients,
                 Workspace& workspace) { net.backward(weights, dy, gradients, workspace); }};
}
void expect_gradients(const Net& net, const Tokens& tokens, const Call& call = {}) {
  auto workspace = net.workspace(kShape);
  model::expect_gradients(net, norma_test::moved(net), workspace, pass_of(net, tokens, call));
}

TEST(ModelTokens, GradientsOfEverythingAtOnce) {
  const Net net(kDims, 2,
                {.size = 7,
                 .causal = false,
                 .scale = 1.7,
                 .positions = {PositionTable::sinusoid, 6},
                 .types = 3,
                 .head = {.transform = HeadTransform{.activation = Activation::gelu, .norm = true},
                          .bias = true,
                          .scale = 0.7,
                          .cap = 1.5}});
  expect_gradients(net, {kIds.data(), kShape, kTypes.data()}, {.lengths = kLengths});
  // What a gradient check cannot see: the outputs' padding is zero.
  auto workspace = net.workspace(kShape);
  const auto y =
      net.forward(norma_test::moved(net), {kIds.data(), kShape, kTypes.data()}, workspace, {.lengths = kLengths});
  for (Index r = 0; r < y.rows; ++r)
    for (Index i = 0; i < y.columns; ++i) EXPECT_EQ(y.row(r)[i] == 0, Padding({kLengths.data(), 5}).holds(r)) << r;
}
TEST(ModelTokens, GradientsOfATiedHeadAndPlacesOfTheCall) {
  const Net net(
      kDims, 1,
      {.size = 7, .tied = true, .positions = {PositionTable::learned, 8}, .types = 2, .head = {.bias = true}});
  const std::vector<Index> each{7, 6, 5, 0, 1, 2, 3, -9, 1 << 30, -9, 99, 99, 99, 99, 1 << 30}, shared{3, 3, 0, 7, 1};
  expect_gradients(net, {kIds.data(), kShape}, {.lengths = kLengths, .positions = each});
  expect_gradients(net, {kWhole.data(), kShape}, {.positions = shared});
}
TEST(ModelTokens, GradientsOfHeadsThatReadOneToken) {
  const Net last(kDims, 1,
                 {.size = 7,
                  .positions = {PositionTable::learned, 5},
                  .head = {.reads = Reads::last_token,
                           .transform = HeadTransform{.activation = Activation::tanh},
                           .outputs = 4,
                           .bias = true}});
  expect_gradients(last, {kIds.data(), kShape}, {.lengths = kLengths});
  expect_gradients(last, {kWhole.data(), kShape});
  const Net first(kDims, 1,
                  {.size = 7,
                   .causal = false,
                   .head = {.reads = Reads::first_token, .transform = HeadTransform{.norm = true}, .outputs = 0}});
  expect_gradients(first, {kIds.data(), kShape}, {.lengths = kLengths});
}
TEST(ModelTokens, GradientsOfAStreamThatIsEmbeddedAlready) {
  Dimensions dims = kDims;
  dims.dropout.input = 0.4;
  dims.rotary.width = 2;
  const Net net(dims, 2, {.size = 7, .head = {.outputs = 0}});
  Values x = model::numbers(15 * 9, "x"), dx = model::numbers(15 * 9, "noise");
  const auto tensor = [](Values& v) { return model::view(v, kShape); };
  std::fill(x.begin() + 63, x.end(), NAN);  // rows 7 to 14: padding
  const std::vector<Index> places{4, 9, 0, 2, 2};
  const Call call{.lengths = kLengths, .positions = places, .training = true, .seed = 4};
  Pass pass{[&](const Parameters<double>& weights, Workspace& workspace) {
              return net.forward_embedded(weights, tensor(x), workspace, call);
            },
            [&](const Parameters<double>& weights, TensorView<const double> dy, Parameters<double>& gradients,
                Workspace& workspace) { net.backward(weights, dy, gradients, workspace, {.x = tensor(dx)}); }};
  auto workspace = net.workspace(kShape);
  const auto weights = norma_test::moved(net);
  const auto all = model::run(weights, net.gradients(), workspace, pass);
  for (const double v : all) ASSERT_TRUE(std::isfinite(v));
  for (std::size_t i = 63; i < dx.size(); ++i) EXPECT_EQ(dx[i], 0);
  std::fill(x.begin() + 63, x.end(), 0);
  pass.inputs = {{"x", &x, &dx}};
  model::expect_gradients(net, weights, workspace, pass, {"embedding.weight"});
}

/// The loss of targets, of which some do not count.
TEST(ModelTokens, GradientsOfTheLoss) {
  const Net net(kDims, 1, {.size = 7, .tied = true, .head = {.cap = 2}});
  std::vector<std::int32_t> targets = kWhole;
  targets[1] = kIgnoredTarget;
  for (std::size_t i = 7; i < 15; ++i) targets[i] = 1 << 30;
  auto weights = norma_test::moved(net);
  auto workspace = net.workspace(kShape);
  const auto loss = [&] {
    return net.forward(weights, {kIds.data(), kShape}, {targets.data(), kShape}, workspace, {.lengths = kLengths});
  };
  auto gradients = net.gradients();
  loss();
  net.backward(weights, gradients, workspace);
  norma::testing::GradientCheckOptions options;
  options.zero_by_theory = {"key.bias"};
  std::vector<norma::testing::TensorReport> reports;
  weights.for_each_parameter([&](const ParameterInfo& info, auto map) {
    const auto size = static_cast<std::size_t>(map.size());
    reports.push_back(norma::testing::check_tensor_gradient(info.name, {map.data(), size},
                                                            {gradients.data() + info.at.offset, size}, loss, options));
  });
  const auto report = norma::testing::judge(reports, options);
  EXPECT_TRUE(report.ok()) << report.text();
}
/// One target per sequence; that of a sequence without tokens is neither read nor counted.
TEST(ModelTokens, TheLossOfAHeadThatReadsOneToken) {
  const Net net(kDims, 1, {.size = 7, .causal = false, .head = {.reads = Reads::first_token, .outputs = 4}});
  const auto weights = norma_test::moved(net);
  auto workspace = net.workspace(kShape);
  const std::vector<std::int32_t> dirty{3, 1, 99}, clean{3, 1, kIgnoredTarget};
  const auto loss = [&](const std::vector<std::int32_t>& targets) {
    return net.forward(weights, {kIds.data(), kShape}, {targets.data(), {3, 1}}, workspace, {.lengths = kLengths});
  };
  const double wanted = loss(clean);
  EXPECT_GT(wanted, 0);
  EXPECT_EQ(loss(dirty), wanted);
  auto gradients = net.gradients();
  net.backward(weights, gradients, workspace);
  EXPECT_GT(gradients["head.weight"].norm(), 0);
}

/// E = a E + (1 - a) stop(E): forward is the same, and of what comes from below a share arrives. A head that uses the
/// same matrix keeps its own.
TEST(ModelTokens, AShareOfTheEmbeddingsGradient) {
  const auto gradients_at = [](double share) {
    const Net net(kDims, 1, {.size = 7, .tied = true, .scale = 3, .gradient_share = share});
    const auto weights = norma_test::moved(net);
    auto gradients = net.gradients();
    auto workspace = net.workspace(kShape);
    net.forward(weights, {kWhole.data(), kShape}, {kWhole.data(), kShape}, workspace);
    net.backward(weights, gradients, workspace);
    return gradients;
  };
  const auto none = gradients_at(0), all = gradients_at(1), some = gradients_at(0.25);
  some.for_each_parameter([&](const ParameterInfo& info, auto map) {
    if (info.name != "embedding.weight") {
      EXPECT_TRUE(map == all[info.name]) << info.name;
      return;
    }
    EXPECT_TRUE(map.isApprox(none[info.name] + 0.25 * (all[info.name] - none[info.name]), 1e-12));
    EXPECT_FALSE(map.isApprox(all[info.name], 1e-3));
    EXPECT_GT(none[info.name].norm(), 0);
  });
}

/// Vaswani et al., section 3.5, at some places.
TEST(ModelTokens, Sinusoids) {
  constexpr Index kWidth = 8;
  const Net net({.width = kWidth, .heads = 1, .hidden = 4}, 1,
                {.size = 3, .positions = {PositionTable::sinusoid, 600}, .head = {.outputs = 0}});
  auto weights = net.gradients();  // zeros: the stream is the places, and the close gives gamma = 0 times their norm
  weights["close.beta"].setZero();
  auto workspace = net.workspace({1, 3});
  const std::vector<std::int32_t> ids{0, 1, 2};
  const std::vector<Index> places{0, 1, 599};
  net.forward(weights, {ids.data(), {1, 3}}, workspace, {.positions = places});
  const auto stream = net.stream(workspace, 0);
  for (Index r = 0; r < 3; ++r)
    for (Index i = 0; i < kWidth / 2; ++i) {
      const double angle = static_cast<double>(places[static_cast<std::size_t>(r)]) /
                           std::pow(10000, 2.0 * static_cast<double>(i) / kWidth);
      EXPECT_NEAR(stream.row(r)[2 * i], std::sin(angle), 1e-12) << r << ' ' << i;
      EXPECT_NEAR(stream.row(r)[2 * i + 1], std::cos(angle), 1e-12) << r << ' ' << i;
    }
}

/// A model from ids is that model from the stream that its tables give.
TEST(ModelTokens, FromIdsIsFromTheirStream) {
  const Net net(kDims, 2,
                {.size = 7, .tied = true, .scale = 1.5, .positions = {PositionTable::learned, 5}, .types = 2});
  const auto weights = norma_test::moved(net);
  const std::vector<std::int32_t> types{0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1};
  Values x(15 * 9);
  for (std::size_t r = 0; r < 15; ++r)
    for (Index i = 0; i < 9; ++i)
      x[r * 9 + static_cast<std::size_t>(i)] = weights["embedding.weight"](kWhole[r], i) * 1.5 +
                                               weights["positions.weight"](static_cast<Index>(r % 5), i) +
                                               weights["types.weight"](types[r], i);
  auto a = net.workspace(kShape), b = net.workspace(kShape);
  const auto from_ids = net.forward(weights, {kWhole.data(), kShape, types.data()}, a);
  const auto from_stream = net.forward_embedded(weights, model::view(x, kShape), b);
  EXPECT_TRUE(norma_test::same_bits(from_ids.data, from_stream.data, from_ids.size()));
  // Types are all 0 where none are given.
  const std::vector<std::int32_t> zeros(15);
  EXPECT_TRUE(norma_test::same_bits(net.forward(weights, {kWhole.data(), kShape, zeros.data()}, a).data,
                                    net.forward(weights, {kWhole.data(), kShape}, b).data, 15 * 7));
}
TEST(ModelTokens, CausalWhateverTheCallSays) {
  const auto first = [](bool causal, const Call& call) {
    const Net net(kDims, 1, {.size = 7, .causal = causal});
    const auto weights = norma_test::moved(net);
    auto workspace = net.workspace(kShape);
    return net.forward(weights, {kWhole.data(), kShape}, workspace, call).row(0)[0];
  };
  EXPECT_EQ(first(true, {}), first(false, {.causal = true}));
  EXPECT_NE(first(true, {}), first(false, {}));
}

TEST(ModelTokens, Memory) {
  Dimensions dims = kDims;
  dims.dropout.input = 0.2;
  const Net net(dims, 2,
                {.size = 23,
                 .positions = {PositionTable::learned, 5},
                 .types = 3,
                 .head = {.reads = Reads::last_token,
                          .transform = HeadTransform{.activation = Activation::gelu, .norm = true},
                          .bias = true,
                          .cap = 5}});
  const std::vector<Index> places(15, 2);
  const std::vector<std::int32_t> targets{3, 0, 99};
  const Call call{.lengths = kLengths, .positions = places, .training = true, .seed = 1};
  model::expect_memory(
      net, norma_test::moved(net), kShape,
      {[&](const Parameters<double>& weights, Workspace& workspace) {
         net.forward(weights, {kIds.data(), kShape, kTypes.data()}, {targets.data(), {3, 1}}, workspace, call);
         return net.outputs(workspace);
       },
       [&](const Parameters<double>& weights, TensorView<const double>, Parameters<double>& gradients,
           Workspace& workspace) { net.backward(weights, gradients, workspace); }});
}

TEST(ModelTokens, ConstructionNamesWhatIsWrong) {
  const auto make = [](const Vocabulary& options) { return error_of([&] { Net(kDims, 1, options); }); };
  EXPECT_EQ(make({.size = -1}), "vocabulary is -1, wanted at least 1");
  EXPECT_EQ(make({.types = -2}), "types is -2, wanted 0 or more");
  EXPECT_EQ(make({.positions = {PositionTable::learned}}), "positions.count is 0, wanted at least 1");
  EXPECT_EQ(make({.scale = 0}), "scale is 0.000000, wanted a number other than 0");
  EXPECT_EQ(make({.gradient_share = INFINITY}), "gradient_share is inf, wanted a number");
  EXPECT_EQ(make({.head = {.outputs = -2}}), "head.outputs is -2, wanted 0 or more, or Head::kVocabulary");
  EXPECT_EQ(make({.head = {.scale = NAN}}), "head.scale is nan, wanted a number other than 0");
  EXPECT_EQ(make({.head = {.cap = -1}}), "head.cap is -1.000000, wanted a positive number, or 0 for none");
  EXPECT_EQ(make({.size = 7, .tied = true, .head = {.outputs = 5}}),
            "a tied head has an output for every token: head.outputs is 5, wanted 7");
}

TEST(ModelTokens, CallsThatAreRefusedWriteNothing) {
  const Net net(kDims, 1, {.size = 7, .positions = {PositionTable::learned, 6}, .types = 2, .head = {.outputs = 4}});
  const Net plain(kDims, 1, {.size = 7});
  const auto weights = norma_test::moved(net), plain_weights = norma_test::moved(plain);
  auto gradients = net.gradients();
  auto workspace = net.workspace({3, 7}), other = plain.workspace(kShape);
  Values y(15 * 4, 99), wrong(15 * 5, 99), x = model::numbers(15 * 9, "x"), memory(9, 1);
  const std::vector<Index> few{0, 1, 2}, beyond{0, 1, 6, 2, 3};
  const auto forward = [&](const Tokens& tokens, const Call& call = {}) {
    const auto message = error_of([&] { net.forward(weights, tokens, model::view(y, kShape), workspace, call); });
    EXPECT_TRUE(message.empty() || y == Values(15 * 4, 99)) << "written before the error";
    return message;
  };
  auto bad_types = kWhole;
  bad_types.assign(15, 0);
  bad_types[6] = 2;
  auto bad_ids = kWhole;
  bad_ids[3] = 7;
  EXPECT_EQ(forward({nullptr, kShape}), "tokens has no memory (null)");
  EXPECT_EQ(forward({bad_ids.data(), kShape}), "tokens[3] is 7, wanted 0 to 6");
  EXPECT_EQ(forward({kWhole.data(), kShape, bad_types.data()}), "types[6] is 2, wanted 0 to 1");
  EXPECT_EQ(forward({kWhole.data(), kShape}, {.positions = few}), "positions has 3 values, wanted 5 or 15");
  EXPECT_EQ(forward({kWhole.data(), kShape}, {.positions = beyond}), "positions[2] is 6, wanted 0 to 5");
  EXPECT_EQ(forward({kWhole.data(), kShape}, {.lengths = few, .memory = model::view(memory, {1, 1})}),
            "memory is given, but this model has no cross-attention");
  EXPECT_EQ(error_of([&] {
              net.forward(weights, {kWhole.data(), {2, 7}}, workspace);
            }),
            "tokens is 7, but this model has 6 positions");
  EXPECT_EQ(error_of([&] {
              net.forward(weights, {kWhole.data(), kShape}, model::view(wrong, kShape), workspace);
            }),
            "y has shape [3, 5, 5], wanted [3, 5, 4]");
  EXPECT_EQ(error_of([&] {
              plain.forward(plain_weights, {kWhole.data(), kShape, kWhole.data()}, other);
            }),
            "types are given, but this model has no segments");
  EXPECT_EQ(error_of([&] {
              plain.forward(plain_weights, {kWhole.data(), kShape}, other, {.positions = beyond});
            }),
            "positions is given, but this network has no rotary positions (Dimensions::rotary)");
  // A stream that is embedded has its places in it.
  EXPECT_EQ(error_of([&] { net.forward_embedded(weights, model::view(x, kShape), workspace, {.positions = beyond}); }),
            "positions is given, but this network has no rotary positions (Dimensions::rotary)");
  EXPECT_EQ(error_of([&] { net.forward_embedded(weights, model::view(y, kShape), workspace); }),
            "x has shape [3, 5, 4], wanted [3, 5, 9]");
  EXPECT_EQ(error_of([&] {
              net.forward(weights, {kWhole.data(), kShape}, {kWhole.data(), kShape}, workspace);
            }),
            "targets[2] is 6, wanted 0 to 3, or -1 to count nothing");
  EXPECT_EQ(forward({kWhole.data(), {-3, -5}}), "tokens has shape [-3, -5], wanted 0 or more of each");
  EXPECT_EQ(forward({kWhole.data(), {3, -5}}), "tokens has shape [3, -5], wanted 0 or more of each");
  EXPECT_EQ(forward({kWhole.data(), kShape}), "");
  EXPECT_NE(y, Values(15 * 4, 99));

  const auto backward = [&](Values& dy, const InputGradients<double>& inputs = {}) {
    return error_of([&] { net.backward(weights, model::view(dy, kShape), gradients, workspace, inputs); });
  };
  EXPECT_EQ(backward(wrong), "dy has shape [3, 5, 5], wanted [3, 5, 4]");
  EXPECT_EQ(backward(y, {.x = model::view(x, kShape)}), "inputs.x is wanted, but the last forward embedded its own");
  EXPECT_EQ(backward(y, {.memory = model::view(x, kShape)}), "inputs.memory is wanted, but this model reads no memory");
  EXPECT_EQ(backward(y, {.images = x.data()}), "inputs.images is wanted, but this model reads no images");
  EXPECT_TRUE(gradients.flat().back() == 0 && gradients["embedding.weight"].norm() == 0);
  EXPECT_EQ(backward(y), "");
  EXPECT_EQ(backward(y), "backward: the last forward in this workspace is spent; a backward used it up");
}

TEST(ModelTokens, TooManySinusoids) {
  const Index many = Index(1) << 60;
  EXPECT_EQ(error_of([&] {
              Net(kDims, 1, {.size = 7, .positions = {PositionTable::sinusoid, many}});
            }),
            "positions.count is " + std::to_string(many) + ", too many for a table of sinusoids");
}

TEST(ModelTokens, ABatchOfNothing) {
  const Net net(kDims, 1, {.size = 7, .positions = {PositionTable::learned, 6}, .head = {.reads = Reads::last_token}});
  const auto weights = norma_test::moved(net);
  auto workspace = net.workspace(kShape);
  for (const Shape shape : {Shape{0, 5}, Shape{2, 0}}) {
    const auto y = net.forward(weights, {nullptr, shape}, workspace);
    EXPECT_EQ(y.rows, shape.batch);
    Values dy(static_cast<std::size_t>(y.size()), 1);
    auto gradients = net.gradients();
    net.backward(weights, TensorView<const double>{{shape.batch, 1}, {dy.data(), y.rows, y.columns}}, gradients,
                 workspace);
    EXPECT_EQ(gradients["embedding.weight"].norm(), 0);
  }
}

}  // namespace
