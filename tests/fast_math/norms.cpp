// SPDX-License-Identifier: MIT
// With -ffast-math: a row's bits do not depend on where y lies. All loops over a row must round alike, however the
// compiler copies and inlines them: so all norms stand in this unit.
#include <norma/norma.hpp>
#include <plain_check.hpp>

#include <cstring>
#include <vector>

#if !defined(__FAST_MATH__)
#error "this unit is compiled with -ffast-math"
#endif

namespace {

using norma::Index;

template <class Norm>
void addresses() {
  using T = typename Norm::Scalar;
  alignas(64) static T x[128], y[128];
  for (Index i = 0; i < 128; ++i) x[i] = static_cast<T>(i * 7919 % 2001 - 1000) / 700;
  for (const Index width : {20, 64, 100}) {
    const norma::Standalone<Norm> net(Norm{}, width);
    auto weights = net.initialize(norma::Rng(1));
    for (Index i = 0; i < weights.size(); ++i) weights.data()[i] += static_cast<T>(i * 7919 % 201 - 100) / 700;
    auto workspace = net.inference_workspace({1, 1});
    std::vector<T> first;
    for (int offset = 0; offset < 16; ++offset) {
      net.forward(weights, norma::TensorView<const T>{{1, 1}, {x, 1, width}},
                  norma::TensorView<T>{{1, 1}, {y + offset, 1, width}}, workspace);
      if (offset == 0) first.assign(y, y + width);
      CHECK(std::memcmp(y + offset, first.data(), first.size() * sizeof(T)) == 0);
    }
  }
}
template <class T>
void all_norms() {
  addresses<norma::RMSNorm<T>>();
  addresses<norma::LayerNorm<T>>();
  addresses<norma::ScaleNorm<T>>();
  addresses<norma::DyT<T>>();
  addresses<norma::Derf<T>>();
}

}  // namespace

void test_norms() {
  all_norms<float>();
  all_norms<double>();
}
