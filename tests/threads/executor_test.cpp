// SPDX-License-Identifier: MIT
// A user's pool in place of this thread alone: output, input gradient and every parameter's gradient stay the same to
// the last bit, for every number of workers and in every run (L07). Built by the preset tsan too.
#include <surface_helpers.hpp>

#include "../../examples/pool.hpp"
#include "own_product.hpp"

namespace {

using namespace surface;
using norma::Block;

struct Result {
  std::vector<float> y, dx;
  norma::Parameters<float> gradients;
  bool operator==(const Result& o) const {
    return same_bits(y, o.y) && same_bits(dx, o.dx) && same_bits(gradients, o.gradients);
  }
};

template <class Net>
Result run(const Net& net, const norma::Parameters<float>& weights, Shape s, Index width, const norma::Call& call,
           norma::Workspace& workspace) {
  const auto x = numbers(s.rows() * width, "x"), dy = numbers(s.rows() * width, "dy");
  Result r{std::vector<float>(x.size()), std::vector<float>(x.size()), net.gradients()};
  net.forward(weights, view(x, s, width), view(r.y, s, width), workspace, call);
  net.backward(weights, view(x, s, width), view(dy, s, width), view(r.dx, s, width), r.gradients, workspace);
  return r;
}

template <class Net>
void equals_serial(const Net& net, Shape s, Index width, const norma::Call& call, int repeats) {
  const auto weights = some_weights(net);
  auto alone = net.workspace(s);
  const Result serial = run(net, weights, s, width, call, alone);
  for (const int workers : {1, 2, 3, 7}) {
    Pool pool(workers);
    ASSERT_EQ(pool.executor().workers, workers);
    auto workspace = net.workspace(s, pool.executor());
    int wrong = 0;
    for (int i = 0; i < repeats; ++i) wrong += !(run(net, weights, s, width, call, workspace) == serial);
    EXPECT_EQ(wrong, 0) << workers << " workers";
    auto inference = net.inference_workspace(s, pool.executor());
    const auto x = numbers(s.rows() * width, "x");
    std::vector<float> y(x.size());
    net.forward(weights, view(x, s, width), view(y, s, width), inference, call);
    EXPECT_TRUE(same_bits(y, serial.y)) << workers << " workers, inference";
  }
}

constexpr norma::Dimensions kDims{.width = 24, .heads = 3, .hidden = 41};

TEST(Executor, Encoder) {
  NORMA_NEEDS_OWN_PRODUCT(float);
  const std::vector<Index> lengths{13, 5, 0};
  equals_serial(norma::Encoder<Block<norma::PreLN>>(kDims, 2), {3, 13}, 24, {.lengths = lengths}, 20);
}
TEST(Executor, AttentionWithATableOfTheStack) {
  NORMA_NEEDS_OWN_PRODUCT(float);
  const std::vector<Index> prefix{2, 0, 7};
  norma::Dimensions dims = kDims;
  dims.window.size = 5;
  dims.score_cap = 2;
  dims.relative_bias = {.buckets = 8, .max_distance = 9};
  equals_serial(norma::Encoder<Block<norma::PreLN>>(dims, 2), {3, 13}, 24, {.causal = true, .prefix = prefix}, 20);
}
TEST(Executor, Decoder) {
  NORMA_NEEDS_OWN_PRODUCT(float);
  equals_serial(
      norma::Decoder<Block<norma::DeepNorm, float, norma::RMSNorm, norma::Attention, norma::SwiGLU>>(kDims, 2), {2, 17},
      24, {.causal = true}, 20);
}
TEST(Executor, DropoutIsTheSameOnAnyThread) {
  NORMA_NEEDS_OWN_PRODUCT(float);
  norma::Dimensions dims = kDims;
  dims.dropout = {.branch = 0.25, .attention = 0.2, .hidden = 0.3, .path = 0.25};
  equals_serial(norma::Encoder<Block<norma::PostLN>>(dims, 2), {3, 13}, 24, {.training = true, .seed = 5}, 5);
}
TEST(Executor, L07LayerNorm) {
  equals_serial(norma::Standalone(norma::LayerNorm<float>{}, 257), {1, 513}, 257, {}, 20);
}
TEST(Executor, L07RMSNorm) { equals_serial(norma::Standalone(norma::RMSNorm<float>{}, 257), {1, 513}, 257, {}, 20); }
// Enough rows for several blocks of column sums, and more workers than rows.
TEST(Executor, ManyRowsAndFewRows) {
  NORMA_NEEDS_OWN_PRODUCT(float);
  equals_serial(norma::Standalone(norma::LayerNorm<float>{}, 5), {1, 2051}, 5, {}, 5);
  equals_serial(Block<norma::PreLN>(kDims), {1, 2}, 24, {}, 5);
  equals_serial(Block<norma::PreLN>(kDims), {1, 0}, 24, {}, 2);
}

// The executor is asked, for no more tasks than it has workers.
TEST(Executor, IsUsed) {
  struct Counted {
    Index runs = 0, most = 0;
  } counted;
  const norma::Executor executor{3,
                                 [](void* context, Index count, void (*task)(void*, Index), void* data) {
                                   auto& c = *static_cast<Counted*>(context);
                                   ++c.runs;
                                   c.most = std::max(c.most, count);
                                   for (Index i = count; i-- > 0;) task(data, i);  // in any order
                                 },
                                 &counted};
  const norma::Encoder<Block<norma::PreLN>> net(kDims, 2);
  const auto weights = some_weights(net);
  auto alone = net.workspace({3, 13}), split = net.workspace({3, 13}, executor);
  const Result serial = run(net, weights, {3, 13}, 24, {}, alone), parallel = run(net, weights, {3, 13}, 24, {}, split);
  if (norma::kernels::kOwnProduct<float>) {
    EXPECT_TRUE(parallel == serial);
  }
  EXPECT_GT(counted.runs, 20);
  EXPECT_EQ(counted.most, 3);
}

// One pool serves several workspaces, one after another and from several threads.
TEST(Executor, OnePoolForAll) {
  NORMA_NEEDS_OWN_PRODUCT(float);
  const Block<norma::PreLN> net(kDims);
  const auto weights = some_weights(net);
  const Shape s{2, 9};
  auto alone = net.workspace(s);
  const Result serial = run(net, weights, s, 24, {}, alone);
  Pool pool(3);
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      auto workspace = net.workspace(s, pool.executor());
      for (int i = 0; i < 10; ++i) wrong[t] += !(run(net, weights, s, 24, {}, workspace) == serial);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4));
}

}  // namespace
