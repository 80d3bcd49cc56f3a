// SPDX-License-Identifier: MIT
// Checkpoints of several files.
#include <fstream>

#include "io_files.hpp"

namespace {

using namespace io_test;
using norma::Kind;
using norma::Layout;
using norma::Parameters;
using norma::read_checkpoint;

const std::string kFirst = "model-00001-of-00002.safetensors", kSecond = "model-00002-of-00002.safetensors";
const std::string kIndex = "model.safetensors.index.json";

/// A directory of its own, gone at the end.
class Directory {
 public:
  explicit Directory(const std::string& name) : scratch_(name) { std::filesystem::create_directory(path()); }
  ~Directory() {
    std::error_code error;
    std::filesystem::remove_all(path(), error);
  }
  const std::filesystem::path& path() const { return scratch_.path(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path() / name) << text; }

 private:
  ScratchFile scratch_;
};

std::shared_ptr<const Layout> layout() {
  auto layout = std::make_shared<Layout>();
  for (const char* name : {"a", "b", "c"}) layout->add(name, 2, 3, Kind::up);
  return layout;
}
Parameters<float> some() {
  Parameters<float> weights(layout());
  float next = 0;
  for (float& v : weights.flat()) v = ++next;
  return weights;
}
/// The tensors of these names.
std::vector<FileTensor> only(const Parameters<float>& weights, std::string_view names) {
  auto tensors = norma::file_tensors(weights);
  std::erase_if(tensors, [&](const FileTensor& t) { return names.find(t.name) == names.npos; });
  return tensors;
}
bool equal(const Parameters<float>& a, const Parameters<float>& b) {
  return a["a"] == b["a"] && a["b"] == b["b"] && a["c"] == b["c"];
}
std::string index_of(const std::string& a, const std::string& b, const std::string& c) {
  return R"({"metadata": {"total_size": 72}, "weight_map": {"a": ")" + a + R"(", "b": ")" + b + R"(", "c": ")" + c +
         "\"}}";
}

TEST(Checkpoint, SeveralFilesAsOne) {
  const Directory directory("shards");
  const auto weights = some();
  norma::write_safetensors(directory.path() / kFirst, only(weights, "ac"), {{"format", "pt"}, {"part", "1"}});
  norma::write_safetensors(directory.path() / kSecond, only(weights, "b"), {{"part", "2"}, {"more", "x"}});
  norma::write_safetensors(directory.path() / "of_another_model.safetensors", only(weights, "abc"));
  directory.write(kIndex, index_of(kFirst, kSecond, kFirst));
  for (const auto& path : {directory.path(), directory.path() / kIndex}) {
    Parameters<float> loaded(layout());
    norma::load(path, loaded);
    EXPECT_TRUE(equal(loaded, weights));
  }
  EXPECT_EQ(read_checkpoint(directory.path()).metadata(),
            (norma::Metadata{{"format", "pt"}, {"part", "1"}, {"more", "x"}}));
  // A directory's single file comes first, and a file is one without any directory.
  norma::write_safetensors(directory.path() / "model.safetensors", only(weights, "a"));
  EXPECT_EQ(read_checkpoint(directory.path()).tensors().size(), 1u);
  EXPECT_EQ(read_checkpoint(directory.path() / kFirst).tensors().size(), 2u);
}

TEST(Checkpoint, ATensorOfAFileLivesAsLongAsItself) {
  const Directory directory("lives");
  const auto weights = some();
  norma::save(directory.path() / "model.safetensors", weights);
  const FileTensor tensor = read_checkpoint(directory.path())["b"];
  EXPECT_EQ(norma::values<float>(tensor)[5], weights["b"](1, 2));
}

// The error of tensors over all files is one; the checkpoint's name is the index's.
TEST(Checkpoint, OneErrorForAllFiles) {
  const Directory directory("wrong");
  const auto weights = some();
  auto second = only(weights, "b");
  second[0].shape = {3, 2};
  norma::write_safetensors(directory.path() / kFirst, only(weights, "a"));
  norma::write_safetensors(directory.path() / kSecond, second);
  directory.write(kIndex, index_of(kFirst, kSecond, kFirst));
  Parameters<float> loaded(layout());
  EXPECT_EQ(error_of([&] { norma::load(directory.path(), loaded); }),
            (directory.path() / kIndex).string() +
                " does not fit these weights:\n"
                "  tensor \"b\" has shape [3, 2], wanted [2, 3]\n"
                "  tensor \"c\" is missing");
  EXPECT_EQ(loaded["a"].cwiseAbs().sum(), 0);
}

TEST(Checkpoint, ATensorInTwoFiles) {
  const auto weights = some();
  const Bytes one = norma::safetensors_bytes(only(weights, "ab")), two = norma::safetensors_bytes(only(weights, "bc"));
  const std::vector<Safetensors> files{Safetensors::parse(one, "one"), Safetensors::parse(two, "two")};
  EXPECT_EQ(error_of([&] { Safetensors::join(files, "both"); }), "both: tensor \"b\" stands in one and in two");
  EXPECT_EQ(Safetensors::join({}, "none").tensors().size(), 0u);
}

TEST(Checkpoint, FilesThatAreNotThere) {
  const Directory directory("missing");
  const auto error = [&](const std::filesystem::path& path) { return error_of([&] { read_checkpoint(path); }); };
  const auto index = directory.path() / kIndex;
  EXPECT_EQ(error(directory.path()),
            directory.path().string() + ": holds neither model.safetensors nor model.safetensors.index.json");
  EXPECT_EQ(error(index), index.string() + ": no file to read");
  EXPECT_EQ(error(directory.path() / "x"), (directory.path() / "x").string() + ": no file to read");
  directory.write(kIndex, index_of(kFirst, kSecond, "third"));
  norma::write_safetensors(directory.path() / kSecond, only(some(), "b"));
  EXPECT_EQ(error(directory.path()),
            index.string() + ": names files that are not there: \"" + kFirst + "\", \"third\"");
}

TEST(Checkpoint, IndexesThatAreNone) {
  const Directory directory("hostile");
  const auto error = [&](const std::string& text) {
    directory.write(kIndex, text);
    const std::string message = error_of([&] { read_checkpoint(directory.path()); });
    EXPECT_LT(message.size(), 400u);
    return message;
  };
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{}"), std::string(R"({"weight_map": []})"),
        std::string(R"({"weight_map": null})"), std::string("\xFF\xFE"), std::string(100000, '[')})
    EXPECT_NE(error(text).find("is no index of a checkpoint: it has no \"weight_map\""), std::string::npos);
  EXPECT_NE(error(R"({"weight_map": {"a": 1}})").find("a file's name is no text"), std::string::npos);
  // It reaches nothing but its own directory.
  const std::string long_name(1000, 'x');
  for (const std::string& name : {std::string("../model.safetensors"), std::string("/dev/zero"), std::string(".."),
                                  std::string("."), std::string(), std::string("a/b"), "../" + long_name})
    EXPECT_NE(error(index_of(name, name, name)).find("names the file \"" + name.substr(0, 80)), std::string::npos);
  EXPECT_NE(error(index_of(long_name, long_name, long_name)).find("not there"), std::string::npos);
}

}  // namespace
