// SPDX-License-Identifier: MIT
// Prints a hash of the bits that forward and backward compute, network by network.
#include <norma/norma.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

using namespace norma;

/// FNV-1a.
template <class T>
std::uint64_t hash(const T* values, std::size_t count, std::uint64_t h) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(values);
  for (std::size_t i = 0; i < count * sizeof(T); ++i) h = (h ^ bytes[i]) * 1099511628211u;
  return h;
}

template <class Net>
void print(const char* name, const Net& net, const Call& call = {}) {
  using T = typename Net::T;
  constexpr Index kWidth = 21;
  constexpr Shape kShape{2, 9};
  std::vector<T> x(kShape.rows() * kWidth), dy(x.size()), y(x.size()), dx(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<T>(Rng(1).normal(i));
    dy[i] = static_cast<T>(Rng(2).normal(i));
  }
  const auto view = [&](std::vector<T>& v) { return TensorView<T>{kShape, {v.data(), kShape.rows(), kWidth}}; };
  const auto weights = net.initialize(Rng(3));
  auto gradients = net.gradients();
  auto workspace = net.workspace(kShape);
  net.forward(weights, view(x), view(y), workspace, call);
  net.backward(weights, view(x), view(dy), view(dx), gradients, workspace);
  std::uint64_t h = 14695981039346656037u;
  for (const auto* v : {&y, &dx}) h = hash(v->data(), v->size(), h);
  h = hash(gradients.data(), static_cast<std::size_t>(gradients.size()), h);
  std::printf("%-20s %016llx\n", name, static_cast<unsigned long long>(h));
}

template <class T>
void print_all() {
  const Dimensions dims{.width = 21, .heads = 3, .hidden = 34, .head_dim = 8};
  Dimensions options = dims;
  options.kv_heads = 1;
  options.rotary.width = 4;
  options.dropout = {.branch = 0.1, .attention = 0.1, .hidden = 0.1, .path = 0.1};
  print("Linear", Standalone(Linear<T>(21, Kind::up), 21));
  print("Attention", Standalone(Attention<T>(dims), 21));
  print("GELU", Standalone(GELU<T>(dims), 21));
  print("LayerNorm", Standalone(LayerNorm<T>{}, 21));
  print("PreLN", Encoder<Block<PreLN, T>>(dims, 2));
  print("PostLN", Encoder<Block<PostLN, T>>(options, 2), {.causal = true});
  print("DeepNorm", Encoder<Block<DeepNorm, T, RMSNorm, Attention, SwiGLU>>(options, 2),
        {.causal = true, .training = true, .seed = 5});
}

}  // namespace

int main() {
  print_all<float>();
  print_all<double>();
}
