// SPDX-License-Identifier: MIT
// A pass of inference that is the same as the last runs on its plan. Whatever differs is planned anew.
#include <algorithm>
#include <cstring>

#include <surface_helpers.hpp>

#include "own_product.hpp"

namespace {

using namespace surface;
using norma::Call;

constexpr Index kWidth = 12;
constexpr Shape kShape{2, 5};
const norma::Dimensions kDims{.width = kWidth, .heads = 3, .hidden = 20};

int plans = 0;
/// Counts how often it is planned.
template <class T>
struct CountedNorm : norma::LayerNorm<T> {
  using norma::LayerNorm<T>::LayerNorm;
  auto plan(norma::Plan& p, const norma::Pass& pass) const {
    ++plans;
    return norma::LayerNorm<T>::plan(p, pass);
  }
};
using Net = norma::Block<norma::PostLN, float, CountedNorm>;

/// A network, and a workspace in which one pass has run: x to y.
struct Repeated : testing::Test {
  Net net{kDims};
  norma::Parameters<float> weights = some_weights(net);
  norma::Workspace workspace = net.inference_workspace(kShape);
  std::vector<float> x = numbers(kShape.rows() * kWidth, "x"), y = std::vector<float>(x.size());

  Repeated() { run(x, y); }
  void run(const std::vector<float>& in, std::vector<float>& out, const Call& call = {}, Shape shape = kShape) {
    net.forward(weights, view(in, shape, kWidth), view(out, shape, kWidth), workspace, call);
  }
  /// What a fresh workspace gives.
  std::vector<float> wanted(const std::vector<float>& in, const Call& call = {}, Shape shape = kShape) const {
    std::vector<float> out(in.size());
    auto fresh = net.inference_workspace(kShape);
    net.forward(weights, view(in, shape, kWidth), view(out, shape, kWidth), fresh, call);
    return out;
  }
  /// Whether this pass is planned, and its result right.
  void expect(bool planned, const Call& call = {}) {
    const std::vector<float> right = wanted(x, call);
    std::fill(y.begin(), y.end(), 0.f);
    plans = 0;
    run(x, y, call);
    EXPECT_EQ(plans > 0, planned);
    EXPECT_TRUE(same_bits(y, right));
  }
};

TEST_F(Repeated, TheSamePassIsNotPlannedAgain) {
  for (int i = 0; i < 3; ++i) expect(false);
  for (float& v : x) v = -2 * v;  // other values in the same place
  expect(false);
  weights["feed_forward.up.weight"](3, 4) += 1;
  expect(false);
  expect(true, {.causal = true});
  expect(false, {.causal = true});
  expect(true);
}

TEST_F(Repeated, OtherTensors) {
  auto other = numbers(kShape.rows() * kWidth, "other");
  std::vector<float> out(y.size());
  run(other, y);
  EXPECT_TRUE(same_bits(y, wanted(other)));
  run(other, out);
  EXPECT_TRUE(same_bits(out, wanted(other)));
  // The same memory as rows that lie further apart, in and out.
  const Shape small{1, 4};
  const norma::TensorView<float> wide{small, {other.data(), 4, kWidth, 2 * kWidth}},
      to{small, {out.data(), 4, kWidth, 2 * kWidth}};
  const auto dense = [](const norma::TensorView<float>& v) {
    std::vector<float> values;
    for (Index r = 0; r < v.matrix.rows; ++r) values.insert(values.end(), v.matrix.row(r), v.matrix.row(r) + kWidth);
    return values;
  };
  std::vector<float> rows(4 * kWidth);
  run(other, rows, {}, small);
  net.forward(weights, wide, view(rows, small, kWidth), workspace);
  EXPECT_TRUE(same_bits(rows, wanted(dense(wide), {}, small)));
  std::fill(out.begin(), out.end(), 0.f);
  net.forward(weights, view(other, small, kWidth), view(out, small, kWidth), workspace);
  net.forward(weights, view(other, small, kWidth), to, workspace);
  EXPECT_TRUE(same_bits(dense(to), wanted({other.begin(), other.begin() + 4 * kWidth}, {}, small)));
}

TEST_F(Repeated, OtherShapes) {
  for (const Shape s : {Shape{1, 5}, Shape{5, 1}, Shape{1, 10}, Shape{2, 5}, Shape{10, 1}}) {
    const std::vector<float> in(x.begin(), x.begin() + s.rows() * kWidth);
    run(x, y, {}, s);
    EXPECT_TRUE(std::equal(in.begin(), in.end(), x.begin()));
    EXPECT_TRUE(same_bits({y.begin(), y.begin() + s.rows() * kWidth}, wanted(in, {}, s)))
        << s.batch << " x " << s.tokens;
  }
}

// What a call points to may change between passes.
TEST_F(Repeated, ValuesOfACallAreReadInEveryPass) {
  std::vector<Index> lengths{5, 3};
  expect(true, {.lengths = lengths});
  lengths = {2, 5};
  expect(true, {.lengths = lengths});
  lengths = {2, 6};
  EXPECT_THROW(run(x, y, {.lengths = lengths}), norma::Error);
  expect(true);
  std::vector<Index> prefix{2, 1};
  expect(true, {.causal = true, .prefix = prefix});
  expect(true, {.causal = true, .prefix = prefix});
  bool keep[25];
  std::fill_n(keep, 25, true);
  const Call masked{.keep = {keep, 1, 1, 5, 5}};
  expect(true, masked);
  keep[7] = keep[11] = false;
  expect(true, masked);
  float bias[25] = {1, 2, 3, -4};
  expect(true, {.bias = {bias, 1, 1, 5, 5}});
  expect(true);
  expect(false);
  // What norma's own modules do not read, a user's module may.
  expect(true, {.seed = 1});
  expect(true, {.seed = 1, .step = 1});
  expect(true, {.training = true, .seed = 1, .step = 1});
  expect(false, {.training = true, .seed = 1, .step = 1});
}

// The same of positions and of a memory, on the same tensors.
TEST(RepeatedPass, PositionsAndMemoryAreReadInEveryPass) {
  norma::Dimensions dims = kDims;
  dims.rotary.width = norma::Rotary::kWholeHead;
  const norma::DecoderBlock<norma::PreLN> net(dims);
  const auto weights = some_weights(net);
  const Shape largest{2, 5, 4};
  auto workspace = net.inference_workspace(largest);
  const auto x = numbers(kShape.rows() * kWidth, "x");
  auto memory = numbers(8 * kWidth, "memory");
  std::vector<Index> positions{0, 1, 2, 3, 4}, lengths{4, 4};
  std::vector<float> y(x.size()), right(x.size());
  const Call call{.positions = positions, .memory = view(memory, {2, 4}, kWidth), .memory_lengths = lengths};
  const auto expect_right = [&](const Call& c) {
    auto fresh = net.inference_workspace(largest);
    net.forward(weights, view(x, kShape, kWidth), view(right, kShape, kWidth), fresh, c);
    net.forward(weights, view(x, kShape, kWidth), view(y, kShape, kWidth), workspace, c);
    EXPECT_TRUE(same_bits(y, right));
  };
  expect_right(call);
  positions = {4, 9, 0, 2, 7};
  expect_right(call);
  memory[3] = 5;
  expect_right(call);
  lengths = {1, 3};
  expect_right(call);
  lengths = {1, 5};
  EXPECT_THROW(net.forward(weights, view(x, kShape, kWidth), view(y, kShape, kWidth), workspace, call), norma::Error);
  const std::vector<float> other = numbers(8 * kWidth, "other");
  expect_right({.memory = view(other, {2, 4}, kWidth)});
  expect_right({.memory = view(memory, {2, 4}, kWidth)});
  bool keep[20] = {true, true, true, true, true, true, true, true, true};
  expect_right({.memory = view(memory, {2, 4}, kWidth), .memory_keep = {keep, 1, 1, 5, 4}});
  keep[2] = false;
  expect_right({.memory = view(memory, {2, 4}, kWidth), .memory_keep = {keep, 1, 1, 5, 4}});
  // Rotary alone, where the key would hold but for the positions.
  const norma::Block<norma::PreLN> turned(dims);
  const auto own = some_weights(turned);
  auto w = turned.inference_workspace(kShape);
  for (const std::vector<Index>& at : {std::vector<Index>{}, {3, 1, 4, 1, 5}, {9, 2, 6, 5, 3}}) {
    positions.assign(at.begin(), at.end());
    auto fresh = turned.inference_workspace(kShape);
    turned.forward(own, view(x, kShape, kWidth), view(y, kShape, kWidth), w, {.positions = positions});
    turned.forward(own, view(x, kShape, kWidth), view(right, kShape, kWidth), fresh, {.positions = at});
    EXPECT_TRUE(same_bits(y, right));
  }
}

TEST_F(Repeated, PackedWeights) {
  NORMA_NEEDS_OWN_PRODUCT(float);
  auto packed = net.pack(weights);
  expect(true, {.packed = &packed});
  expect(false, {.packed = &packed});
  weights["feed_forward.up.weight"](0, 0) += 1;
  const auto before = std::move(packed);  // still holds the memory: the new panels lie elsewhere
  packed = net.pack(weights);
  expect(true, {.packed = &packed});
  const auto other = net.pack(weights);
  expect(true, {.packed = &other});
  expect(true);
  const Net wide({.width = kWidth, .heads = 3, .hidden = 40});
  packed = wide.pack(some_weights(wide));
  EXPECT_THROW(run(x, y, {.packed = &packed}), norma::Error);  // refused before anything
  expect(false);
}

TEST_F(Repeated, AfterWhatElseRanInTheWorkspace) {
  const Net other({.width = kWidth, .heads = 2, .hidden = 20});
  const auto others = some_weights(other);
  std::vector<float> out(y.size());
  other.forward(others, view(x, kShape, kWidth), view(y, kShape, kWidth), workspace);
  expect(true);
  expect(false);
  EXPECT_THROW(run(x, x), norma::Error);  // y overlaps x: refused before anything
  expect(false);
  // Planned, but too large: then nothing is there.
  const std::vector<float> long_x(30 * kWidth);
  std::vector<float> long_y(30 * kWidth);
  EXPECT_THROW(run(long_x, long_y, {}, {3, 10}), norma::Error);
  expect(true);
  norma::Workspace moved = std::move(workspace);
  workspace = std::move(moved);
  expect(false);
  net.calibrate(weights, view(x, kShape, kWidth), view(y, kShape, kWidth), workspace);
  expect(true);
}

// Whoever has the arena's address may write there at any time.
TEST_F(Repeated, NotWhereTheArenaIsInOthersHands) {
  std::byte* const arena = workspace.data();
  for (int i = 0; i < 2; ++i) {
    std::memset(arena, 0x5A, static_cast<std::size_t>(workspace.bytes()));
    expect(true);
  }
  workspace = net.inference_workspace(kShape);
  expect(true);
  expect(false);
}

/// Plans what only padding needs, as a port does.
template <class T>
struct PlansForPadding : norma::None {
  struct Tape {
    norma::MatrixView<T> room;
  };
  static constexpr bool active() { return true; }
  Tape plan(norma::Plan& p, const norma::Pass& pass) const {
    return pass.padded() ? Tape{p.keep<T>(pass.shape.rows(), 64)} : Tape{};
  }
  void forward(const T*, norma::MatrixView<const T> x, norma::MatrixView<T> y, const Tape&) const {
    norma::kernels::copy(x, y);
  }
  void backward(const T*, norma::MatrixView<const T>, norma::MatrixView<const T> dy, norma::MatrixView<T> dx,
                norma::Write, T*, const Tape&) const {
    norma::kernels::copy(dy, dx);
  }
};
struct PaddedHeads {
  auto slots(auto at) const {
    using Module = PlansForPadding<typename decltype(at)::Scalar>;
    return norma::place().query(at.only(norma::attention, Module{})).key(at.only(norma::attention, Module{}));
  }
};

// The largest pass is the largest for a module inside attention, too.
TEST(Workspace, HoldsWhatModulesPerHeadPlanForPadding) {
  const norma::Block<PaddedHeads> net(kDims);
  auto workspace = net.inference_workspace({4, 50});
  const Shape shape{4, 50};
  const auto x = numbers(shape.rows() * kWidth, "x");
  std::vector<float> y(x.size());
  const std::vector<Index> lengths{50, 3, 4, 5};
  net.forward(some_weights(net), view(x, shape, kWidth), view(y, shape, kWidth), workspace, {.lengths = lengths});
}

// A copy of a network has its layout, and is the same network.
TEST_F(Repeated, ACopyOfTheNetwork) {
  const Net copy = net;
  plans = 0;
  copy.forward(weights, view(x, kShape, kWidth), view(y, kShape, kWidth), workspace);
  EXPECT_EQ(plans, 0);
  EXPECT_TRUE(same_bits(y, wanted(x)));
}

// Dropout acts anew in every pass of training.
TEST(RepeatedPass, TrainingIsPlannedEveryTime) {
  const Net net(kDims);
  const auto weights = some_weights(net);
  auto workspace = net.workspace(kShape);
  const auto x = numbers(kShape.rows() * kWidth, "x");
  std::vector<float> y(x.size());
  for (int i = 0; i < 2; ++i) {
    plans = 0;
    net.forward(weights, view(x, kShape, kWidth), view(y, kShape, kWidth), workspace);
    EXPECT_GT(plans, 0);
  }
}

}  // namespace
