// SPDX-License-Identifier: MIT
// Models of images.
#include <model_check.hpp>
#include <surface_helpers.hpp>

#include <unsupported/Eigen/CXX11/Tensor>

namespace {

using namespace norma;
using model::Pass;
using model::Values;
using surface::error_of;
using Net = ImageModel<Block<PreLN, double>>;

const Dimensions kDims{.width = 9, .heads = 3, .hidden = 11};
constexpr Patches kPatches{.height = 6, .width = 9, .patch = 3, .channels = 2};  // 2 x 3 patches
constexpr Index kPixels = 2 * 6 * 9;

/// The outputs, and the gradient of the images, too.
Pass pass_of(const Net& net, Values& images, Values& gradient, const Patches& p) {
  return {[&net, &images, p](const Parameters<double>& weights, Workspace& workspace) {
            return net.forward(weights, {images.data(), 2, p.channels, p.height, p.width}, workspace);
          },
          [&net, &gradient](const Parameters<double>& weights, TensorView<const double> dy,
                            Parameters<double>& gradients, Workspace& workspace) {
            net.backward(weights, dy, gradients, workspace, {.images = gradient.data()});
          },
          {{"images", &images, &gradient}}};
}

TEST(ModelImages, Gradients) {
  Patches pooled = kPatches;
  pooled.head.transform = HeadTransform{.activation = HeadTransform::Activation::tanh};
  Patches bare = kPatches;
  bare.class_token = bare.bias = false;
  bare.head = {.outputs = 3, .bias = true};
  for (const Patches& p : {pooled, bare}) {
    const Net net(kDims, 1, p);
    Values images = model::numbers(2 * kPixels, "images"), gradient = model::numbers(2 * kPixels, "noise");
    auto workspace = net.workspace({.batch = 2});
    model::expect_gradients(net, norma_test::moved(net), workspace, pass_of(net, images, gradient, p));
  }
}
TEST(ModelImages, Memory) {
  Patches classes = kPatches;
  classes.head.outputs = 9;
  const Net net(kDims, 2, classes);
  Values images = model::numbers(2 * kPixels, "images"), gradient = images;
  const std::vector<Index> lengths{7, 3};
  const std::vector<std::int32_t> targets{3, 0};
  Pass pass = pass_of(net, images, gradient, kPatches);
  pass.forward = [&](const Parameters<double>& weights, Workspace& workspace) {
    net.forward(weights, {images.data(), 2, 2, 6, 9}, {targets.data(), {2, 1}}, workspace, {.lengths = lengths});
    return net.outputs(workspace);
  };
  model::expect_memory(net, norma_test::moved(net), {.batch = 2}, pass);
}

/// Row p of the stream is patch p by rows of patches, each channel after the other, times the weight, as a convolution
/// that steps by its kernel has it.
TEST(ModelImages, PatchesAreThoseOfAConvolution) {
  const Net net(kDims, 1, kPatches);
  auto weights = norma_test::moved(net);
  weights.for_each_parameter([](const ParameterInfo& info, auto map) {
    if (info.name.starts_with("layers.")) map.setZero();  // the block is the identity
  });
  Values images = model::numbers(2 * kPixels, "images");
  auto workspace = net.workspace({.batch = 2});
  net.forward(weights, {images.data(), 2, 2, 6, 9}, workspace);
  const auto stream = net.stream(workspace, 0);
  ASSERT_EQ(stream.rows, 14);
  const auto weight = weights["patches.weight"], bias = weights["patches.bias"],
             positions = weights["positions.weight"];
  for (Index b = 0; b < 2; ++b) {
    for (Index o = 0; o < 9; ++o)
      EXPECT_NEAR(stream.row(b * 7)[o], weights["class_token"](0, o) + positions(0, o), 1e-14);
    for (Index row = 0; row < 2; ++row)
      for (Index column = 0; column < 3; ++column)
        for (Index o = 0; o < 9; ++o) {
          double sum = bias(0, o) + positions(1 + row * 3 + column, o);
          for (Index c = 0; c < 2; ++c)
            for (Index y = 0; y < 3; ++y)
              for (Index x = 0; x < 3; ++x)
                sum += weight(o, c * 9 + y * 3 + x) *
                       images[static_cast<std::size_t>((b * 2 + c) * 54 + (row * 3 + y) * 9 + column * 3 + x)];
          EXPECT_NEAR(stream.row(b * 7 + 1 + row * 3 + column)[o], sum, 1e-13) << row << ' ' << column << ' ' << o;
        }
  }
}
TEST(ModelImages, OfAnEigenTensor) {
  const Net net(kDims, 1, kPatches);
  const auto weights = norma_test::moved(net);
  Eigen::Tensor<double, 4, Eigen::RowMajor> images(2, 2, 6, 9);
  const Values v = model::numbers(2 * kPixels, "images");
  std::copy(v.begin(), v.end(), images.data());
  auto a = net.workspace({.batch = 2}), b = net.workspace({.batch = 2});
  const auto y = net.forward(weights, images, a), wanted = net.forward(weights, {v.data(), 2, 2, 6, 9}, b);
  EXPECT_EQ(y.rows, 2);
  EXPECT_TRUE(norma_test::same_bits(y.data, wanted.data, wanted.size()));
  // A matrix of the rows, or a tensor, takes them as well.
  Eigen::Matrix<double, 2, 9, Eigen::RowMajor> matrix;
  net.forward(weights, images, matrix, a);
  EXPECT_TRUE(norma_test::same_bits(matrix.data(), wanted.data, wanted.size()));
}

TEST(ModelImages, Errors) {
  const auto make = [](const Patches& p) { return error_of([&] { Net(kDims, 1, p); }); };
  EXPECT_EQ(make({.height = 10, .width = 8, .patch = 4}),
            "patches: a patch of 4 does not divide height 10 and width 8");
  EXPECT_EQ(make({.patch = 0}),
            "patches: height, width, patch and channels are [224, 224, 0, 3], wanted at least 1 each");
  const Net net(kDims, 1, kPatches);
  const auto weights = norma_test::moved(net);
  auto workspace = net.workspace({.batch = 2});
  Values images(3 * kPixels, 1), y(18, 99);
  const auto forward = [&](const Images<double>& given) {
    const auto message = error_of([&] { net.forward(weights, given, model::view(y, {2, 1}), workspace); });
    EXPECT_TRUE(message.empty() || y == Values(18, 99)) << "written before the error";
    return message;
  };
  EXPECT_EQ(forward({images.data(), 2, 3, 6, 9}), "images has shape [2, 3, 6, 9], wanted [2, 2, 6, 9]");
  EXPECT_EQ(forward({images.data(), 2, 2, 9, 6}), "images has shape [2, 2, 9, 6], wanted [2, 2, 6, 9]");
  EXPECT_EQ(forward({nullptr, 2, 2, 6, 9}), "images has no memory (null)");
  EXPECT_EQ(forward({images.data(), -1, 2, 6, 9}), "images has shape [-1, 2, 6, 9], wanted a batch of 0 or more");
  EXPECT_EQ(forward({images.data(), 3, 2, 6, 9}), "y has shape [2, 1, 9], wanted [3, 1, 9]");
  EXPECT_NE(error_of([&] {
              net.forward(weights, {images.data(), 3, 2, 6, 9}, workspace);
            }).find("for batch 3"),
            std::string::npos);
  const std::vector<std::int32_t> targets{0, 0};
  EXPECT_EQ(error_of([&] {
              net.forward(weights, {images.data(), 2, 2, 6, 9}, {targets.data(), {2, 1}}, workspace);
            }),
            "targets are given, but this model's head has no outputs (Head::outputs)");
  EXPECT_EQ(forward({images.data(), 2, 2, 6, 9}), "");
  // Images that were not read have no gradient.
  auto gradients = net.gradients();
  const Values x(static_cast<std::size_t>(2 * kPatches.tokens() * 9), 1);
  const Shape shape{2, kPatches.tokens()};
  net.forward_embedded(weights, TensorView<const double>{shape, {x.data(), shape.rows(), 9}}, workspace);
  EXPECT_EQ(error_of([&] {
              net.backward(weights, model::view(y, {2, 1}), gradients, workspace, {.images = images.data()});
            }),
            "inputs.images is wanted, but the last forward was given its stream embedded");
}

}  // namespace
