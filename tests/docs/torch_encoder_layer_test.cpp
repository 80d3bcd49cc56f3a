// SPDX-License-Identifier: MIT
// torch.nn.TransformerEncoderLayer with its weights moved over as docs/torch-weights.md says: forward and all
// gradients. The numbers are torch's, computed in float64 and rounded to float: tests/golden/torch_encoder_layer.py.
#include "torch_encoder_layer.hpp"

#include <norma/core/named_tensors.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <map>
#include <vector>

namespace {

using norma::Index;
using Values = std::vector<float>;
static_assert(std::endian::native == std::endian::little, "the file is little-endian");

constexpr Index kWidth = 12, kHeads = 3, kHidden = 20;
constexpr norma::Shape kShape{.batch = 2, .tokens = 5};

/// The file, by torch's names.
class Golden {
 public:
  using Parameters = std::map<std::string, Values>;
  struct Result {
    Values y, dx;
    Parameters gradients;
  };

  Golden() : file_(NORMA_TEST_DATA_DIR "/torch_encoder_layer.bin", std::ios::binary) {
    weights = read_parameters();
    x = read(kShape.rows() * kWidth);
    dy = read(kShape.rows() * kWidth);
    for (auto& by_placement : results)
      for (Result& r : by_placement) {
        r.y = read(kShape.rows() * kWidth);
        r.dx = read(kShape.rows() * kWidth);
        r.gradients = read_parameters();
      }
    EXPECT_TRUE(file_.good() && file_.peek() == std::ifstream::traits_type::eof()) << "not as long as it should be";
  }

  Parameters weights;
  Values x, dy;
  Result results[2][2];  // norm_first; relu, gelu

 private:
  Values read(Index count) {
    Values v(static_cast<std::size_t>(count));
    file_.read(reinterpret_cast<char*>(v.data()), static_cast<std::streamsize>(v.size() * sizeof(float)));
    return v;
  }
  /// In the order of the state_dict.
  Parameters read_parameters() {
    constexpr Index d = kWidth, h = kHidden;
    const std::pair<const char*, Index> sizes[] = {{"self_attn.in_proj_weight", 3 * d * d},
                                                   {"self_attn.in_proj_bias", 3 * d},
                                                   {"self_attn.out_proj.weight", d * d},
                                                   {"self_attn.out_proj.bias", d},
                                                   {"linear1.weight", h * d},
                                                   {"linear1.bias", h},
                                                   {"linear2.weight", d * h},
                                                   {"linear2.bias", d},
                                                   {"norm1.weight", d},
                                                   {"norm1.bias", d},
                                                   {"norm2.weight", d},
                                                   {"norm2.bias", d}};
    Parameters p;
    for (const auto& [name, size] : sizes) p[name] = read(size);
    return p;
  }

  std::ifstream file_;
};

/// max |a - b| / max |b|
template <class T>
double difference(const T* a, const Values& b) {
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double d = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(d <= worst)) worst = d;
    largest = std::fmax(largest, std::fabs(static_cast<double>(b[i])));
  }
  return worst / largest;
}

template <class T, class Policy, template <class, class> class FeedForward>
void check(const Golden& golden, const Golden::Result& expected, norma::Projections projections, double tolerance) {
  const TorchEncoderLayer<Policy, FeedForward, T> block(
      {.width = kWidth, .heads = kHeads, .hidden = kHidden, .projections = projections});
  auto weights = block.gradients(), gradients = block.gradients();
  const auto named = named_tensors(weights.layout(), kTorchEncoderLayer);
  EXPECT_TRUE(named.problems.empty());
  for (const norma::StoredTensor& tensor : named.tensors) {
    const Values& values = golden.weights.at(tensor.name);
    ASSERT_EQ(tensor.size(), std::ssize(values)) << tensor.name;
    tensor.for_each_element(
        [&](Index from, Index to) { weights.data()[to] = static_cast<T>(values[static_cast<std::size_t>(from)]); });
  }
  auto workspace = block.workspace(kShape);

  std::vector<T> x(golden.x.begin(), golden.x.end()), dy(golden.dy.begin(), golden.dy.end()), y(x.size()), dx(x.size());
  const auto tensor = [](std::vector<T>& v) { return norma::TensorView<T>{kShape, {v.data(), kShape.rows(), kWidth}}; };
  block.forward(weights, tensor(x), tensor(y), workspace);
  block.backward(weights, tensor(x), tensor(dy), tensor(dx), gradients, workspace);

  EXPECT_LE(difference(y.data(), expected.y), tolerance);
  EXPECT_LE(difference(dx.data(), expected.dx), tolerance);
  Index seen = 0;
  for (const norma::StoredTensor& stored : named.tensors) {
    const Values& values = expected.gradients.at(stored.name);
    std::vector<T> gradient(values.size());
    stored.for_each_element(
        [&](Index to, Index from) { gradient[static_cast<std::size_t>(to)] = gradients.data()[from]; });
    EXPECT_LE(difference(gradient.data(), values), tolerance) << stored.name;
    seen += stored.size();
  }
  EXPECT_EQ(seen, gradients.count());
}

template <class T>
void check_all(double tolerance) {
  const Golden golden;
  using norma::Projections;
  check<T, norma::PostLN, norma::ReLU>(golden, golden.results[0][0], Projections::fused, tolerance);
  check<T, norma::PostLN, norma::GELU>(golden, golden.results[0][1], Projections::separate, tolerance);
  check<T, norma::PreLN, norma::ReLU>(golden, golden.results[1][0], Projections::fused_per_head, tolerance);
  check<T, norma::PreLN, norma::GELU>(golden, golden.results[1][1], Projections::fused, tolerance);
}

TEST(TorchEncoderLayer, Float) { check_all<float>(4e-6); }
// As far as the file's rounding to float goes.
TEST(TorchEncoderLayer, Double) { check_all<double>(6.1e-8); }

}  // namespace
