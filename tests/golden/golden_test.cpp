// SPDX-License-Identifier: MIT
// Every golden file: norma's output and all gradients are those of the file; and with one weight changed they are not.
// NORMA_GOLDEN_DIR names another directory of files than the repository's.
#include <norma/io/safetensors.hpp>
#include <norma/testing/gradient_check.hpp>

#include "golden_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace {

using golden::Index;
using norma::Safetensors;
using Values = std::span<const float>;

constexpr double kOutputTolerance = 1e-5, kGradientTolerance = 1e-4;

/// How far norma's pass is from a file's. Errors by tensor: max |a - b| / max |b|, of a gradient at least 1e-3 of the
/// largest gradient (docs/design.md, section 6).
struct Comparison {
  std::map<std::string, double> errors;
  std::string failures;  ///< a line each; empty: all is equal

  void expect(const std::string& name, Values got, Values wanted, double scale, double tolerance) {
    double worst = got.size() == wanted.size() ? 0 : INFINITY;
    for (std::size_t i = 0; i < std::min(got.size(), wanted.size()); ++i)
      worst = norma::testing::worse(worst, std::fabs(static_cast<double>(got[i]) - static_cast<double>(wanted[i])));
    const double error = errors[name] = worst / scale;
    if (!(error <= tolerance)) failures += name + " is off by " + norma::testing::detail::figure(error) + "\n";
  }
  double worst(const std::string& prefix) const {
    double w = 0;
    for (const auto& [name, error] : errors)
      if (name.starts_with(prefix)) w = norma::testing::worse(w, error);
    return w;
  }
};

double largest(Values v) {
  double m = 0;
  for (const float x : v) m = norma::testing::worse(m, std::fabs(static_cast<double>(x)));
  return m;
}

bool is_zero(const golden::Options& options, const std::string& parameter) {
  const auto ends = options.words("zero_by_theory");
  return std::any_of(ends.begin(), ends.end(), [&](const auto& end) { return parameter.ends_with(end); });
}

/// Of a file that calls parameters as somebody else does, by that table.
void load(const Safetensors& file, const golden::AnyNetwork& net, norma::Parameters<float>& to,
          const std::string& prefix) {
  if (net.names().empty()) return norma::load(file, to, prefix);
  norma::load(file, to, net.names(), prefix + golden::Options(file.metadata()).text("names_prefix"));
}

/// Runs a file through the network that it names.
Comparison compare(const golden::AnyNetwork& net, const Safetensors& file) {
  auto weights = net.zeros(), gradients = net.zeros(), expected = net.zeros();
  load(file, net, weights, "weights.");
  load(file, net, expected, "gradients.");
  golden::Tensors tensors;
  for (const norma::FileTensor& tensor : file.tensors())
    if (!tensor.name.starts_with("weights.") && !tensor.name.starts_with("gradients."))
      tensors[tensor.name] = {tensor.shape, norma::values<float>(tensor)};
  const golden::Tensors results = net.run(weights, tensors, gradients);

  Comparison result;
  for (const auto& [name, wanted] : tensors) {
    const bool output = name == "y";
    if (!output && (name == "dy" || name[0] != 'd')) continue;
    result.expect(name, results.at(name).values, wanted.values, largest(wanted.values),
                  output ? kOutputTolerance : kGradientTolerance);
  }
  for (const auto& [name, values] : results)
    if (!tensors.contains(name)) result.failures += "the file has no " + name + "\n";
  const golden::Options options(file.metadata());
  const double floor = 1e-3 * largest(expected.flat());
  expected.for_each_parameter([&](const norma::ParameterInfo& parameter, auto map) {
    const Values wanted(map.data(), static_cast<std::size_t>(map.size()));
    const Values got(gradients[parameter.name].data(), wanted.size());
    // Of a gradient that is zero in theory, rounding is measured by the others.
    const bool zero = is_zero(options, parameter.name);
    result.expect("gradients." + parameter.name, got, wanted, zero ? 1e3 * floor : std::max(largest(wanted), floor),
                  zero ? kOutputTolerance : kGradientTolerance);
  });
  return result;
}

const std::filesystem::path kRepository = NORMA_SOURCE_DIR "/tests/golden/data";

std::vector<std::filesystem::path> files(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (entry.path().extension() == ".safetensors") all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

std::filesystem::path chosen_directory() {
  const char* const given = std::getenv("NORMA_GOLDEN_DIR");
  return given != nullptr ? std::filesystem::path(given) : kRepository;
}

TEST(Golden, ThereAreFiles) { EXPECT_FALSE(files(chosen_directory()).empty()) << chosen_directory(); }

/// The table in docs/golden.md says of each of the repository's files what it rests on: a row each, and no other.
TEST(Golden, ThePageListsThem) {
  std::ifstream stream(NORMA_SOURCE_DIR "/docs/golden.md");
  const std::string page{std::istreambuf_iterator<char>(stream), {}};
  std::set<std::string> unused;
  for (const auto& [name, make] : golden::networks()) unused.insert(name);
  for (const auto& path : files(kRepository)) {
    const auto metadata = Safetensors::read(path).metadata();
    const std::string row =
        "\n| `" + path.stem().string() + "` | " + metadata.at("network") + " | " + metadata.at("source") + " |\n";
    EXPECT_NE(page.find(row), std::string::npos) << row;
    unused.erase(metadata.at("network"));
  }
  for (const std::string& name : unused) ADD_FAILURE() << "no file is of the network \"" << name << '"';
  for (std::size_t at = page.find("\n| `"); at != page.npos; at = page.find("\n| `", at + 1)) {
    const std::string name = page.substr(at + 4, page.find('`', at + 4) - at - 4);
    EXPECT_TRUE(std::filesystem::exists(kRepository / (name + ".safetensors"))) << "the page lists " << name;
  }
}

class GoldenFile : public testing::TestWithParam<std::filesystem::path> {
 protected:
  void SetUp() override {
    std::ifstream stream(GetParam(), std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const auto view = std::as_bytes(std::span(text));
    bytes.assign(view.begin(), view.end());
    file.emplace(Safetensors::parse(bytes, GetParam().string()));
    const std::string& name = file->metadata().at("network");
    ASSERT_TRUE(golden::networks().contains(name)) << "no network is called \"" << name << '"';
    network = golden::networks().at(name)(golden::Options(file->metadata()));
  }

  std::vector<std::byte> bytes;
  std::optional<Safetensors> file;
  std::unique_ptr<golden::AnyNetwork> network;
};

TEST_P(GoldenFile, Agrees) {
  const Comparison result = compare(*network, *file);
  for (const char* part : {"y", "dx", "gradients."})
    RecordProperty(part, norma::testing::detail::figure(result.worst(part)));
  EXPECT_EQ(result.failures, "") << file->metadata().at("source");
}

/// Saved by its table, a system is again what the package's own files hold.
TEST_P(GoldenFile, IsWrittenAsItWas) {
  auto weights = network->zeros();
  load(*file, *network, weights, "weights.");
  if (network->names().empty()) return;  // norma's own
  const std::string prefix = "weights." + golden::Options(file->metadata()).text("names_prefix");
  const auto tensors = norma::file_tensors(weights, network->names(), prefix);
  for (const norma::FileTensor& tensor : tensors) {
    const norma::FileTensor* const original = file->find(tensor.name);
    ASSERT_NE(original, nullptr) << tensor.name;
    EXPECT_EQ(tensor.shape, original->shape) << tensor.name;
    EXPECT_EQ(norma::values<float>(tensor), norma::values<float>(*original)) << tensor.name;
  }
  EXPECT_EQ(std::ssize(tensors), std::count_if(file->tensors().begin(), file->tensors().end(),
                                               [](const auto& t) { return t.name.starts_with("weights."); }));
}

/// Of each weight in turn one element is halved: the one whose gradient is largest.
TEST_P(GoldenFile, EveryWeightCounts) {
  int changed = 0;
  for (const norma::FileTensor& tensor : file->tensors()) {
    if (!tensor.name.starts_with("weights.") || is_zero(golden::Options(file->metadata()), tensor.name)) continue;
    ASSERT_EQ(tensor.type, norma::DataType::f32);
    const auto gradient = norma::values<float>((*file)["gradients." + tensor.name.substr(8)]);
    const auto largest = std::max_element(gradient.begin(), gradient.end(),
                                          [](float a, float b) { return std::fabs(a) < std::fabs(b); });
    std::byte* const element = bytes.data() + (tensor.data.data() - bytes.data()) + (largest - gradient.begin()) * 4;
    float value = 0;
    std::memcpy(&value, element, 4);
    const float half = value / 2;
    std::memcpy(element, &half, 4);
    EXPECT_NE(compare(*network, *file).failures, "") << tensor.name;
    std::memcpy(element, &value, 4);
    ++changed;
  }
  EXPECT_GT(changed, 0);
}

/// Of its weights one missing, one left over, one of another shape: one error names all three, and nothing is loaded.
TEST_P(GoldenFile, OneErrorNamesAllThatIsWrong) {
  std::vector<norma::FileTensor> tensors = file->tensors();
  std::erase_if(tensors, [](const auto& tensor) { return !tensor.name.starts_with("weights."); });
  ASSERT_GE(tensors.size(), 2u);
  norma::FileTensor &renamed = tensors[tensors.size() / 2], &reshaped = tensors[tensors.size() / 2 - 1];
  const std::string missing = renamed.name, left_over = renamed.name += "_", other = reshaped.name;
  reshaped.shape = {1, 1, 1, 1, reshaped.size()};
  const auto wrong = norma::safetensors_bytes(tensors, file->metadata());
  auto weights = network->zeros();
  std::string error;
  try {
    load(Safetensors::parse(wrong), *network, weights, "weights.");
  } catch (const norma::Error& e) {
    error = e.what();
  }
  for (const std::string& part : {"\"" + missing + "\"", "\"" + left_over + "\" belongs to no parameter",
                                  "\"" + other + "\"", std::string(" is missing"), std::string(" has shape [1, 1,")})
    EXPECT_NE(error.find(part), std::string::npos) << part << " in: " << error;
  EXPECT_EQ(largest(weights.flat()), 0);
}

// Where torchscale is not as the DeepNet paper has it, in numbers that the script read from its modules: the gain of an
// encoder's weights beside a decoder divides by (N^4 M)^(1/16) / 1.15 where the paper multiplies by 0.87 (N^4
// M)^(-1/16), which is 32 % too much; and the gains multiply not Xavier's initial values but those of torch.nn.Linear.
// Its alphas, and the gain of a decoder, are the paper's.
TEST(Golden, TorchscaleAndTheDeepNetPaper) {
  const auto file = Safetensors::read(kRepository / "deep_norm_encoder_decoder.safetensors");
  const golden::Options options(file.metadata());
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

INSTANTIATE_TEST_SUITE_P(Files, GoldenFile, testing::ValuesIn(files(chosen_directory())), [](const auto& file) {
  std::string name = file.param.stem().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenFile);

}  // namespace
