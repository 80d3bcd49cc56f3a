// SPDX-License-Identifier: MIT
// What is said of files on disk and of weights that do not fit, and how little is done before it is said.
#include <norma/sublayer/linear.hpp>

#include <algorithm>
#include <fstream>

#include "io_files.hpp"

namespace {

using namespace io_test;

void write(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}
bool holds(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

constexpr std::uintmax_t kTera = std::uintmax_t{1} << 40;

// Sparse files, which take no room: the header is looked at before memory is taken.
TEST(Refusals, LargeFilesByTheirHeader) {
  const ScratchFile scratch("sparse");
  const auto error = [&](const Bytes& start) {
    write(scratch.path(), start);
    std::filesystem::resize_file(scratch.path(), 4 * kTera);
    return error_of([&] { Safetensors::read(scratch.path()); });
  };
  EXPECT_TRUE(holds(error({}), "does not start with {"));
  EXPECT_TRUE(holds(error(file_of("{}", {}, 4 * kTera - 8)), "is said to be 4398046511096 bytes long"));
  EXPECT_TRUE(holds(error(file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})")), "\"a\""));
}

// A header that fits a file which no memory holds.
TEST(Refusals, NoMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer ends the program";
#endif
  constexpr std::uintmax_t size = 15 * kTera;
  if (std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[size]) != nullptr) GTEST_SKIP() << "memory is promised";
  const ScratchFile scratch("sparse");
  const std::string count = std::to_string(size);
  const Bytes start = file_of(R"({"a":{"dtype":"U8","shape":[)" + count + R"(],"data_offsets":[0,)" + count + "]}}");
  write(scratch.path(), start);
  std::error_code none;
  std::filesystem::resize_file(scratch.path(), start.size() + size, none);
  if (none) GTEST_SKIP() << "no file of this size here";
  EXPECT_EQ(error_of([&] { Safetensors::read(scratch.path()); }),
            scratch.path().string() + ": there is no memory for its " + count + " bytes");
}

TEST(Refusals, FilesOfAnotherFormat) {
  const std::string_view zip = "PK\3\4 and what else torch.save writes", short_text = "text", pickle("\x80\2}q\0.", 6);
  for (const auto text : {zip, short_text, pickle})
    EXPECT_TRUE(
        refused(bytes_of(std::vector<char>(text.begin(), text.end())), "safetensors: is no safetensors file: "));
  EXPECT_TRUE(refused(Bytes(64), "safetensors: is no safetensors file: "));
}

TEST(Refusals, QuotesAreShortAndPrintable) {
  const std::string entry = R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})";
  EXPECT_TRUE(refused(file_of(R"({"a\u001b[2J\n)" + entry, 8), R"(tensor "a\x1B[2J\x0A" of)"));
  const std::string a(1000, 'a');
  EXPECT_TRUE(refused(file_of("{\"" + a + entry, 8), "tensor \"" + a.substr(0, 80) + "...\" of"));
  std::string e;
  for (int i = 0; i < 100; ++i) e += "\u20ac";
  EXPECT_TRUE(refused(file_of("{\"" + e + entry, 8), "tensor \"" + e.substr(0, 78) + "...\" of")) << "whole letters";

  std::string shape = "1";
  for (int i = 0; i < 1000; ++i) shape += ",1";
  const Bytes file = file_of(R"({"a":{"dtype":"F32","shape":[)" + shape + R"(],"data_offsets":[0,8]}})", 8);
  EXPECT_LT(error_of([&] { Safetensors::parse(file); }).size(), 250u);
  for (const std::string& header : {R"({"a":{")" + a + "\":1}}", R"({"a":{"dtype":")" + a + "\"}}",
                                    R"({"a":{"shape":[1.)" + std::string(1000, '1') + "]}}",
                                    R"({"__metadata__":{")" + a + R"(":"","a)" + a.substr(1) + "\":\"\"}}"})
    EXPECT_LT(error_of([&] { Safetensors::parse(file_of(header)); }).size(), 200u) << header;
}

/// A layout of 30 parameters.
std::shared_ptr<norma::Layout> thirty() {
  auto layout = std::make_shared<norma::Layout>();
  for (int i = 0; i < 30; ++i) layout->add("p" + std::to_string(i), 1, 2, norma::Kind::bias);
  return layout;
}

TEST(Refusals, ListsEnd) {
  norma::Parameters<float> weights(thirty());
  const std::string message = error_of([&] { norma::load(Safetensors::parse(file_of("{}")), weights); });
  EXPECT_TRUE(holds(message, "\n  tensor \"p19\" is missing\n  and 10 more"));
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 21) << message;
}

TEST(Refusals, APrefixThatWouldDo) {
  const norma::Parameters<float> weights(thirty());
  const auto error = [&](std::vector<FileTensor> tensors, std::string_view prefix) {
    const Bytes bytes = norma::safetensors_bytes(std::move(tensors));
    norma::Parameters<float> loaded(thirty());
    return error_of([&] { norma::load(Safetensors::parse(bytes), loaded, prefix); });
  };
  const std::string advice = "the file's names begin with \"model.\"; give that as prefix";
  EXPECT_TRUE(holds(error(norma::file_tensors(weights, "model."), ""), advice));
  EXPECT_TRUE(holds(error(norma::file_tensors(weights, "model."), "net."), advice));
  EXPECT_TRUE(holds(error(norma::file_tensors(weights), "net."), "the file's names have no prefix; give none"));
  EXPECT_EQ(error(norma::file_tensors(weights, "model."), "model."), "");
  auto one_less = norma::file_tensors(weights, "model.");
  one_less.pop_back();
  EXPECT_FALSE(holds(error(one_less, ""), "prefix"));
}

TEST(Refusals, EmptyWeights) {
  const std::string wanted = "the weights are empty; make them with initialize() or gradients()";
  const ScratchFile scratch("empty");
  norma::Parameters<float> weights;
  EXPECT_EQ(error_of([&] { norma::load(Safetensors::parse(file_of("{}")), weights); }), wanted);
  EXPECT_EQ(error_of([&] { norma::save(scratch.path(), weights); }), wanted);
  EXPECT_FALSE(std::filesystem::exists(scratch.path()));
}

TEST(Refusals, SavedUnderAPrefix) {
  const ScratchFile scratch("prefix");
  norma::Parameters<float> weights(thirty()), loaded(thirty());
  weights["p3"](0, 1) = 7;
  norma::save(scratch.path(), weights, "model.", {{"step", "7"}});
  const auto file = Safetensors::read(scratch.path());
  norma::load(file, loaded, "model.");
  EXPECT_EQ(loaded["p3"](0, 1), 7);
  EXPECT_EQ(file.metadata(), (norma::Metadata{{"step", "7"}}));
  norma::save(scratch.path(), weights, "net.");
  EXPECT_NE(Safetensors::read(scratch.path()).find("net.p0"), nullptr);
  norma::save(scratch.path(), weights, {{"step", "7"}, {"more", "8"}});
  EXPECT_NE(Safetensors::read(scratch.path()).find("p0"), nullptr) << "metadata without a prefix";
}

TEST(Refusals, APartialFileIsSomeoneElses) {
  const ScratchFile scratch("weights"), other("weights.partial");
  write(other.path(), Bytes(3));
  norma::write_safetensors(scratch.path(), {});
  EXPECT_EQ(std::filesystem::file_size(scratch.path()), 16u);
  EXPECT_TRUE(std::filesystem::exists(other.path())) << "neither taken nor removed";
}

}  // namespace
