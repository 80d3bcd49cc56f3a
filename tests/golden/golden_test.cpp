// SPDX-License-Identifier: MIT
// Every golden file: norma's output and all gradients are those of the file; and with one weight changed they are not.
// NORMA_GOLDEN_DIR names another directory of files than the repository's.
#include "golden_case.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {

std::filesystem::path directory() {
  const char* const given = std::getenv("NORMA_GOLDEN_DIR");
  return given != nullptr ? given : NORMA_SOURCE_DIR "/tests/golden/data";
}
std::vector<std::filesystem::path> files() {
  std::vector<std::filesystem::path> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory(), error))
    if (entry.path().extension() == ".safetensors") all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

TEST(Golden, ThereAreFiles) { EXPECT_FALSE(files().empty()) << directory(); }

class GoldenFile : public testing::TestWithParam<std::filesystem::path> {
 protected:
  void SetUp() override {
    std::ifstream stream(GetParam(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const auto view = std::as_bytes(std::span(text));
    bytes.assign(view.begin(), view.end());
    file.emplace(golden::Safetensors::parse(bytes, GetParam().string()));
    const auto& name = file->metadata().at("network");
    ASSERT_TRUE(golden::networks().contains(name)) << "no network is called \"" << name << '"';
    compare = golden::networks().at(name);
  }

  std::vector<std::byte> bytes;
  std::optional<golden::Safetensors> file;
  std::function<golden::Comparison(const golden::Safetensors&)> compare;
};

TEST_P(GoldenFile, Agrees) {
  const golden::Comparison result = compare(*file);
  RecordProperty("y", std::to_string(1e6 * result.worst("y")));
  RecordProperty("dx", std::to_string(1e6 * result.worst("dx")));
  RecordProperty("gradients", std::to_string(1e6 * result.worst("gradients.")));
  EXPECT_TRUE(result.failures.empty()) << file->metadata().at("source") << "\n" << result.text();
}

/// Of each weight in turn one element, the middle one, is halved.
TEST_P(GoldenFile, EveryWeightCounts) {
  const auto zero = golden::Options(*file).words("zero_by_theory");
  int changed = 0;
  for (const norma::FileTensor& tensor : file->tensors()) {
    const bool counts = std::none_of(zero.begin(), zero.end(), [&](const auto& z) { return tensor.name.ends_with(z); });
    if (!tensor.name.starts_with("weights.") || !counts) continue;
    ASSERT_EQ(tensor.type, norma::DataType::f32);
    std::byte* const element = bytes.data() + (tensor.data.data() - bytes.data()) + tensor.size() / 2 * 4;
    float value = 0;
    std::memcpy(&value, element, 4);
    const float half = value / 2;
    std::memcpy(element, &half, 4);
    EXPECT_FALSE(compare(*file).failures.empty()) << tensor.name;
    std::memcpy(element, &value, 4);
    ++changed;
  }
  EXPECT_GT(changed, 0);
}

// Where torchscale is not as the DeepNet paper has it, in numbers that the script read from its modules: the gain of an
// encoder's weights beside a decoder divides by (N^4 M)^(1/16) / 1.15 where the paper multiplies by 0.87 (N^4
// M)^(-1/16), which is 32 % too much; and the gains multiply not Xavier's initial values but those of torch.nn.Linear.
// Its alphas, and the gain of a decoder, are the paper's.
TEST(Golden, TorchscaleAndTheDeepNetPaper) {
  const auto file =
      golden::Safetensors::read(NORMA_SOURCE_DIR "/tests/golden/data/deep_norm_encoder_decoder.safetensors");
  const golden::Options options(file);
  const auto n = static_cast<int>(options.size("encoder_layers")), m = static_cast<int>(options.size("layers"));
  const auto ours = [&](norma::Side side) {
    return norma::DeepNorm::constants(
        {.layer = 1, .layers = 1, .side = side, .encoder_layers = n, .decoder_layers = m});
  };
  const double root = std::pow(n, 4.0 / 16) * std::pow(m, 1.0 / 16);
  EXPECT_NEAR(options.number("encoder_alpha"), ours(norma::Side::encoder).alpha, 1e-12);
  EXPECT_NEAR(options.number("decoder_alpha"), ours(norma::Side::decoder).alpha, 1e-12);
  EXPECT_NEAR(options.number("decoder_beta"), ours(norma::Side::decoder).beta, 1e-12);
  EXPECT_NEAR(options.number("encoder_beta"), 1.15 / root, 1e-12);
  EXPECT_NEAR(ours(norma::Side::encoder).beta, 0.87 / root, 1e-12);

  const double width = 255;  // torch.nn.Linear is uniform with variance 1 / (3 fan_in), Xavier's is 1 / fan_in here
  EXPECT_NEAR(options.number("query_std_255"), std::sqrt(1 / (3 * width)), 0.01 * std::sqrt(1 / width));
  const norma::Block<norma::DeepNorm> block({.width = 255, .heads = 3});
  const auto weights = block.initialize(norma::Rng(1));
  EXPECT_NEAR(weights["attention.query.weight"].norm() / width, std::sqrt(1 / width), 0.01 * std::sqrt(1 / width));
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenFile, testing::ValuesIn(files()), [](const auto& file) {
  std::string name = file.param.stem().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenFile);

}  // namespace
