// SPDX-License-Identifier: MIT
// Networks as plain values, in the places where people keep them (L05), and memory that does not grow (L09). One
// network on many threads (L06) is in tests/threads/block_test.cpp.
#include <unistd.h>
#include <surface_helpers.hpp>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <type_traits>
#include <vector>

namespace {

using namespace surface;
using norma::Block;
using Pre = Block<norma::PreLN>;
using Stack = norma::Encoder<Block<norma::DeepNorm, float, norma::RMSNorm, norma::Attention, norma::SwiGLU>>;

constexpr norma::Dimensions kDims{.width = 12, .heads = 3, .hidden = 21};
constexpr Shape kShape{2, 5};

struct Result {
  std::vector<float> y, dx;
  norma::Parameters<float> gradients;
  bool operator==(const Result& o) const {
    return same_bits(y, o.y) && same_bits(dx, o.dx) && same_bits(gradients, o.gradients);
  }
};

template <class Net>
Result run(const Net& net, const norma::Parameters<float>& weights, norma::Workspace& workspace) {
  const auto x = numbers(kShape.rows() * 12, "x"), dy = numbers(kShape.rows() * 12, "dy");
  Result r{std::vector<float>(x.size()), std::vector<float>(x.size()), net.gradients()};
  net.forward(weights, view(x, kShape, 12), view(r.y, kShape, 12), workspace);
  net.backward(weights, view(x, kShape, 12), view(dy, kShape, 12), view(r.dx, kShape, 12), r.gradients, workspace);
  return r;
}
template <class Net>
Result run(const Net& net) {
  auto workspace = net.workspace(kShape);
  return run(net, some_weights(net), workspace);
}

// Nothing asks for more than the alignment of any new, at any instruction set: no member is a register or a fixed-size
// matrix.
template <class V>
constexpr bool kIsOrdinary = alignof(V) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<V>;
static_assert(kIsOrdinary<norma::Workspace> && kIsOrdinary<norma::Parameters<float>> &&
              kIsOrdinary<norma::LayerNorm<float>>);
static_assert(alignof(Pre) <= alignof(std::max_align_t) && alignof(Stack) <= alignof(std::max_align_t));
static_assert(std::is_copy_constructible_v<Pre> && std::is_copy_assignable_v<Pre> && std::is_move_assignable_v<Stack>);
static_assert(!std::is_copy_constructible_v<norma::Workspace>);

template <class Net>
Net by_value(Net net) {
  return net;
}

template <class Net>
class Lifetime : public testing::Test {
 protected:
  static Net make() {
    if constexpr (std::is_same_v<Net, Pre>)
      return Net(kDims);
    else
      return Net(kDims, 2);
  }
};
using Nets = testing::Types<Pre, Stack>;
TYPED_TEST_SUITE(Lifetime, Nets);

TYPED_TEST(Lifetime, L05_InContainers) {
  const Result wanted = run(this->make());
  std::vector<TypeParam> networks;
  for (int i = 0; i < 9; ++i) networks.push_back(this->make());  // moves them, several times
  for (const auto& net : networks) EXPECT_TRUE(run(net) == wanted);

  struct Record {
    char tag;
    TypeParam net;
    char end;
    norma::Parameters<float> weights;
    char last;
    norma::Workspace workspace;
  };
  const TypeParam first = this->make();
  std::vector<Record> records;
  for (int i = 0; i < 5; ++i) records.push_back({'a', first, 'b', some_weights(first), 'c', first.workspace(kShape)});
  for (auto& r : records) EXPECT_TRUE(run(r.net, r.weights, r.workspace) == wanted);

  const auto shared = std::make_shared<Record>(std::move(records[2]));
  EXPECT_TRUE(run(shared->net, shared->weights, shared->workspace) == wanted);
  const auto unique = std::make_unique<TypeParam>(*networks.begin());
  EXPECT_TRUE(run(*unique) == wanted);
}

TYPED_TEST(Lifetime, L05_ByValue) {
  TypeParam net = this->make();
  const Result wanted = run(net);
  const TypeParam copy = by_value(net);
  // A copy's weights and workspaces are the original's too.
  const auto weights = some_weights(net);
  auto workspace = copy.workspace(kShape);
  EXPECT_TRUE(run(net, weights, workspace) == wanted);
  net = by_value(this->make());
  EXPECT_TRUE(run(net) == wanted && run(copy) == wanted);

  // A workspace moves with its tape; weights outlive the network that made them.
  auto other = std::make_unique<TypeParam>(this->make());
  const auto theirs = some_weights(*other);
  other.reset();
  EXPECT_TRUE(run(copy, theirs, workspace) == wanted);
  const auto x = numbers(kShape.rows() * 12, "x"), dy = numbers(kShape.rows() * 12, "dy");
  Result r{std::vector<float>(x.size()), std::vector<float>(x.size()), copy.gradients()};
  copy.forward(weights, view(x, kShape, 12), view(r.y, kShape, 12), workspace);
  norma::Workspace moved = std::move(workspace);
  copy.backward(weights, view(x, kShape, 12), view(dy, kShape, 12), view(r.dx, kShape, 12), r.gradients, moved);
  EXPECT_TRUE(r == wanted);
}

/// Bytes of memory that this process holds; 0 where nobody tells.
Index resident_bytes() {
  long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*s %ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return static_cast<Index>(pages) * sysconf(_SC_PAGESIZE);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

TEST(Lifetime, L09_MemoryStaysFlat) {
  if (kSanitized || resident_bytes() == 0) GTEST_SKIP() << "resident memory is not ours alone here, or unknown";
  constexpr Index kWidth = 4;
  const Block<norma::PreLN> net({.width = kWidth, .heads = 2, .hidden = 8});
  const auto weights = some_weights(net);
  auto gradients = net.gradients();
  auto workspace = net.workspace({1, 64}), inference = net.inference_workspace({1, 64});
  const auto x = numbers(64 * kWidth, "x");
  std::vector<float> y(x.size()), dx(x.size());
  const auto forward = [&](int call, norma::Workspace& w) {
    const Shape s{1, call % 2 == 0 ? 3 : 64};
    const norma::TensorView<const float> in{s, {x.data(), s.rows(), kWidth}};
    net.forward(weights, in, norma::TensorView<float>{s, {y.data(), s.rows(), kWidth}}, w, {.causal = true});
    return in;
  };
  const auto both = [&](int call) {
    const auto in = forward(call, workspace);
    const norma::TensorView<float> out{in.shape, {dx.data(), in.shape.rows(), kWidth}};
    net.backward(weights, in, in, out, gradients, workspace);
  };
  const auto grows = [](int calls, const auto& call) {
    for (int i = 0; i < 200; ++i) call(i);
    const Index before = resident_bytes();
    for (int i = 0; i < calls; ++i) call(i);
    return resident_bytes() - before;
  };
  constexpr Index kMegabyte = 1 << 20;
  EXPECT_LT(grows(20000, [&](int i) { forward(i, inference); }), kMegabyte);
  EXPECT_LT(grows(20000, both), kMegabyte);
  // Networks, weights and workspaces come and go.
  EXPECT_LT(grows(2000,
                  [&](int i) {
                    const Block<norma::PreLN> fresh({.width = kWidth, .heads = 2, .hidden = 8});
                    auto w = fresh.workspace({1, i % 2 == 0 ? 3 : 64});
                    static_cast<void>(fresh.initialize(norma::Rng(1)));
                  }),
            kMegabyte);
}

}  // namespace
