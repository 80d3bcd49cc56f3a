// SPDX-License-Identifier: MIT
// Files written by norma and by Python, and weights in files. Hostile files: k_files_test.cpp.
#include <norma/sublayer/linear.hpp>

#include <fstream>
#include <iterator>

#include "io_files.hpp"

namespace {

using namespace io_test;
using surface::numbers;

Bytes read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}
const std::filesystem::path kPython = NORMA_TEST_DATA_DIR "/python.safetensors";

TEST(Safetensors, ReadsWhatPythonWrote) {
  const auto file = Safetensors::read(kPython);
  EXPECT_EQ(file.tensors().size(), 7u);
  EXPECT_EQ(file["weight"].shape, (std::vector<Index>{2, 3}));
  EXPECT_EQ(norma::values<float>(file["weight"]), (std::vector<float>{0, 1 / 3.0f, 2 / 3.0f, 1, 4 / 3.0f, 5 / 3.0f}));
  EXPECT_EQ(norma::values<double>(file["layers.0.\u00e9"]), (std::vector<double>{0.1, -1e300}));
  EXPECT_EQ(norma::values<float>(file["half"]), (std::vector<float>{1, 0x1p-24f, -65504}));
  EXPECT_EQ(norma::values<double>(file["brain"])[0], 3.140625);
  EXPECT_EQ(norma::values<float>(file["scalar"]), std::vector<float>{2.5f});
  EXPECT_EQ(file["empty"].shape, (std::vector<Index>{0, 4}));
  EXPECT_EQ(file["integers"].type, DataType::i64);
  EXPECT_EQ(file.metadata(), (norma::Metadata{{"made by", "safetensors, \"Python\" \u00e9\n"}}));
}

// So Python reads what norma writes; the order in which the tensors are given does not matter.
TEST(Safetensors, WritesTheBytesThatPythonWrites) {
  const auto file = Safetensors::read(kPython);
  auto tensors = file.tensors();
  EXPECT_EQ(norma::safetensors_bytes(tensors, file.metadata()), read_bytes(kPython));
  std::reverse(tensors.begin(), tensors.end());
  EXPECT_EQ(norma::safetensors_bytes(tensors, file.metadata()), read_bytes(kPython));
}

TEST(Safetensors, CopiesShareTheFile) {
  auto file = std::make_unique<Safetensors>(Safetensors::read(kPython));
  const Safetensors copy = *file;
  file.reset();
  EXPECT_EQ(norma::values<float>(copy["scalar"]), std::vector<float>{2.5f});
}

TEST(Safetensors, RefusesToWriteWhatItWouldNotRead) {
  const std::vector<float> v(4);
  const auto data = std::as_bytes(std::span(v));
  const auto error = [&](std::vector<FileTensor> tensors, const norma::Metadata& metadata = {}) {
    return error_of([&] { norma::safetensors_bytes(std::move(tensors), metadata); });
  };
  EXPECT_EQ(error({{"a", DataType::f32, {2, 2}, data}}), "");
  EXPECT_NE(error({{"a", DataType::f32, {5}, data}}).find("\"a\" of shape [5]"), std::string::npos);
  EXPECT_NE(error({{"a", DataType::f32, {4}, data}, {"a", DataType::f64, {2}, data}}).find("\"a\" stands there twice"),
            std::string::npos);
  EXPECT_NE(error({{"__metadata__", DataType::f32, {4}, data}}), "");
  EXPECT_NE(error({{"__metadata__", DataType::f32, {4}, data}}, {{"a", "b"}}).find("twice"), std::string::npos);
  EXPECT_NE(error({{"\xFF", DataType::f32, {4}, data}}).find("UTF-8"), std::string::npos);
  EXPECT_NE(error({}, {{"key", "\xC3("}}).find("UTF-8"), std::string::npos);
}

TEST(Safetensors, PathsThatDoNotWork) {
  const ScratchFile scratch("nowhere");
  const auto below = scratch.path() / "a.safetensors";
  EXPECT_EQ(error_of([&] { Safetensors::read(below); }), below.string() + ": no file to read");
  EXPECT_NE(error_of([&] { Safetensors::read(testing::TempDir()); }).find("no file to read"), std::string::npos);
  EXPECT_EQ(error_of([&] { norma::write_safetensors(below, {}); }), below.string() + ": cannot be written");
  std::ofstream(scratch.path()) << "{}";
  EXPECT_EQ(error_of([&] { Safetensors::read(scratch.path()); }),
            scratch.path().string() + ": is no safetensors file: it holds 2 bytes, wanted at least 8");
}

template <class T>
auto a_block() {
  return norma::Block<norma::PreLN, T>({.width = 12, .heads = 3, .hidden = 20});
}

TEST(Weights, ThereAndBack) {
  const ScratchFile scratch("weights");
  const auto block = a_block<float>();
  const auto weights = surface::some_weights(block);
  norma::save(scratch.path(), weights, {{"step", "7"}});
  const Bytes first = read_bytes(scratch.path());
  norma::save(scratch.path(), weights, {{"step", "7"}});
  EXPECT_EQ(first, read_bytes(scratch.path())) << "the same weights, the same file";
  auto partial = scratch.path();
  EXPECT_FALSE(std::filesystem::exists(partial += ".partial"));

  auto loaded = block.initialize(norma::Rng(77));
  norma::load(scratch.path(), loaded);
  EXPECT_TRUE(surface::same_bits(weights, loaded)) << "padding too";
  const auto file = Safetensors::read(scratch.path());
  EXPECT_EQ(file["attention.query.weight"].shape, (std::vector<Index>{12, 12}));
  EXPECT_EQ(file["attention.query.bias"].shape, std::vector<Index>{12});
  EXPECT_EQ(file.metadata().at("step"), "7");
}

TEST(Weights, WidenAndRound) {
  const auto block = a_block<float>();
  const auto weights = surface::some_weights(block);
  const Bytes bytes = norma::safetensors_bytes(norma::file_tensors(weights));
  auto wide = a_block<double>().gradients();
  norma::load(Safetensors::parse(bytes), wide);
  EXPECT_EQ(wide["feed_forward.up.weight"], weights["feed_forward.up.weight"].cast<double>());

  wide["attention.key.bias"](0, 3) = 0.1;
  const Bytes wide_bytes = norma::safetensors_bytes(norma::file_tensors(wide));
  auto narrow = block.gradients();
  norma::load(Safetensors::parse(wide_bytes), narrow);
  EXPECT_EQ(narrow["attention.key.bias"](0, 3), 0.1f);

  wide["attention.key.bias"](0, 3) = std::numeric_limits<double>::infinity();
  const Bytes infinite = norma::safetensors_bytes(norma::file_tensors(wide));
  norma::load(Safetensors::parse(infinite), narrow);
  EXPECT_EQ(narrow["attention.key.bias"](0, 3), std::numeric_limits<float>::infinity());
  wide["attention.key.bias"](0, 3) = -1e39;
  const Bytes large = norma::safetensors_bytes(norma::file_tensors(wide));
  EXPECT_NE(error_of([&] {
              norma::load(Safetensors::parse(large), narrow);
            }).find("\"attention.key.bias\" has a value that is too large for float"),
            std::string::npos);
}

TEST(Weights, AllThatIsWrongIsSaidAndNothingIsWritten) {
  const auto block = a_block<float>();
  const auto weights = surface::some_weights(block);
  auto tensors = norma::file_tensors(weights, "net.");
  const std::vector<std::int64_t> integers(12);
  for (FileTensor& t : tensors) {
    if (t.name == "net.attention.query.weight") t.name = "net.attention.q.weight";
    if (t.name == "net.attention.key.weight") t.shape = {144};
    if (t.name == "net.attention.key.bias") t.shape = {12, 1};
    if (t.name == "net.attention.value.bias") t = {t.name, DataType::i64, {12}, std::as_bytes(std::span(integers))};
  }
  tensors.push_back({"elsewhere", DataType::i64, {12}, std::as_bytes(std::span(integers))});
  const Bytes bytes = norma::safetensors_bytes(tensors);
  auto loaded = block.initialize(norma::Rng(4));
  const auto before = loaded;
  const std::string message = error_of([&] { norma::load(Safetensors::parse(bytes), loaded, "net."); });
  for (const char* part :
       {"safetensors does not fit", "\"net.attention.query.weight\" is missing",
        "\"net.attention.q.weight\" belongs to no parameter",
        "\"net.attention.key.weight\" has shape [144], wanted [12, 12]",
        "\"net.attention.key.bias\" has shape [12, 1], wanted [12]", "\"net.attention.value.bias\" has dtype I64"})
    EXPECT_NE(message.find(part), std::string::npos) << part << "\n" << message;
  EXPECT_EQ(message.find("elsewhere"), std::string::npos);
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 5) << message;
  EXPECT_TRUE(surface::same_bits(before, loaded));
}

// Case K01: a square weight, whose shape cannot tell [out, in] from [in, out].
TEST(CasesK, K01_OutIn) {
  const norma::Standalone linear(norma::Linear<float>(2, norma::Kind::up, false), 2);
  const std::vector<float> w{1, 2, 3, 4};
  const Bytes bytes = norma::safetensors_bytes({{"weight", DataType::f32, {2, 2}, std::as_bytes(std::span(w))}});
  auto weights = linear.gradients();
  norma::load(Safetensors::parse(bytes), weights);
  std::vector<float> x{1, 0}, y(2);
  auto workspace = linear.workspace({1, 1});
  linear.forward(weights, surface::view(x, {1, 1}, 2), surface::view(y, {1, 1}, 2), workspace);
  EXPECT_EQ(y, (std::vector<float>{1, 3}));
}

}  // namespace
