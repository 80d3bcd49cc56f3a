// SPDX-License-Identifier: MIT
// One constant network on many threads, each with its own workspace and gradients: what a serial call gives, to the
// last bit (L06). Built by the preset tsan too.
#include <array>
#include <atomic>
#include <surface_helpers.hpp>
#include <thread>

namespace {

using namespace surface;
using norma::Block;
using norma::Encoder;

constexpr int kThreads = 8;
constexpr Index kWidth = 12;
constexpr norma::Dimensions kDims{.width = kWidth, .heads = 3, .hidden = 21};

struct Result {
  std::vector<float> y, dx;
  norma::Parameters<float> gradients;
  bool operator==(const Result& o) const {
    return same_bits(y, o.y) && same_bits(dx, o.dx) && same_bits(gradients, o.gradients);
  }
};

/// Call number `call`: its own shape, input and mask.
template <class Net>
Result run(const Net& net, const norma::Parameters<float>& weights, int call, norma::Workspace& workspace) {
  const Shape s{1 + call % 2, 1 + call % 5};
  const std::string name = std::to_string(call);
  const auto x = numbers(s.rows() * kWidth, "x" + name), dy = numbers(s.rows() * kWidth, "dy" + name);
  Result r{std::vector<float>(x.size()), std::vector<float>(x.size()), net.gradients()};
  net.forward(weights, view(x, s, kWidth), view(r.y, s, kWidth), workspace, {.causal = call % 3 == 0});
  net.backward(weights, view(x, s, kWidth), view(dy, s, kWidth), view(r.dx, s, kWidth), r.gradients, workspace);
  return r;
}

template <class Net>
void equals_serial(const Net& net, int calls) {
  const auto weights = some_weights(net);
  std::vector<Result> serial;
  {
    auto workspace = net.workspace({2, 5});
    for (int c = 0; c < calls; ++c) serial.push_back(run(net, weights, c, workspace));
  }
  ASSERT_FALSE(serial[0] == serial[10]);  // the same shape, another input
  std::atomic<int> ready{0};
  std::array<int, kThreads> wrong{};
  std::array<bool, kThreads> kept{};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      auto workspace = net.workspace({2, 5});
      ++ready;
      while (ready < kThreads) std::this_thread::yield();  // all at once
      const Result first = run(net, weights, t, workspace), copy = first;
      for (int i = 0; i < calls; ++i) {
        const int c = (i + t * calls / kThreads) % calls;  // every thread at another call
        wrong[static_cast<std::size_t>(t)] += !(run(net, weights, c, workspace) == serial[static_cast<std::size_t>(c)]);
      }
      // Results of an earlier call are the caller's: later calls, here and elsewhere, leave them alone.
      kept[static_cast<std::size_t>(t)] = first == copy && first == serial[static_cast<std::size_t>(t)];
    });
  for (auto& t : threads) t.join();
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_EQ(wrong[static_cast<std::size_t>(t)], 0) << "thread " << t;
    EXPECT_TRUE(kept[static_cast<std::size_t>(t)]) << "thread " << t;
  }
}

// 8 threads x 125 calls.
TEST(Threads, PreLN) { equals_serial(Block<norma::PreLN>(kDims), 125); }
TEST(Threads, PostLN) { equals_serial(Block<norma::PostLN>(kDims), 125); }
TEST(Threads, DeepNorm) { equals_serial(Block<norma::DeepNorm>(kDims), 125); }
TEST(Threads, AStack) { equals_serial(Encoder<Block<norma::PreLN>>(kDims, 3), 50); }

// Making networks, weights and workspaces is safe beside each other, and copies of a network share its layout.
TEST(Threads, Construction) {
  const Block<norma::DeepNorm> net(kDims);
  const auto weights = net.initialize(norma::Rng(1));
  std::array<bool, kThreads> same{};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      bool all = true;
      for (int i = 0; i < 10; ++i) {
        const Block<norma::DeepNorm> copy = net;
        const Block<norma::DeepNorm> fresh(kDims);
        all = all && same_bits(copy.initialize(norma::Rng(1)), weights) &&
              same_bits(fresh.initialize(norma::Rng(1)), weights);
        auto workspace = copy.workspace({2, 5});
        all = all && run(copy, weights, 1, workspace) == run(fresh, weights, 1, workspace);
      }
      same[static_cast<std::size_t>(t)] = all;
    });
  for (auto& t : threads) t.join();
  for (bool s : same) EXPECT_TRUE(s);
}

// Errors on one thread do not disturb the others.
TEST(Threads, ErrorsStayOnTheirThread) {
  const Block<norma::PostLN> net(kDims);
  const auto weights = some_weights(net);
  auto workspace = net.workspace({2, 5});
  const Result wanted = run(net, weights, 9, workspace);
  std::atomic<int> errors{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      auto own = net.workspace({2, t % 2 == 0 ? 5 : 4});
      for (int i = 0; i < 50; ++i) {
        const std::string message = error_of([&] { wrong += !(run(net, weights, 9, own) == wanted); });
        errors += message.starts_with("workspace holds");
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(errors, kThreads / 2 * 50);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
