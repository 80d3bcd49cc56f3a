// SPDX-License-Identifier: MIT
// What the pages quote is what the tree holds: blocks that show a file, and messages of the compiler.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

const std::filesystem::path kRoot = NORMA_SOURCE_DIR;

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::filesystem::path> pages() {
  std::vector<std::filesystem::path> all{kRoot / "README.md"};
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "docs"))
    if (entry.path().extension() == ".md") all.push_back(entry.path());
  return all;
}

/// The blocks marked <!-- snippet: file path -->, see cmake/doc_snippets.cmake.
TEST(Docs, BlocksEqualTheFilesTheyShow) {
  int blocks = 0;
  for (const auto& page : pages()) {
    const std::string text = read(page), mark = "<!-- snippet: file ", fence = " -->\n```cpp\n";
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      const std::size_t path = at + mark.size(), path_end = text.find(fence, path), code = path_end + fence.size();
      ASSERT_NE(path_end, std::string::npos) << page;
      const std::string file = read(kRoot / text.substr(path, path_end - path));
      EXPECT_EQ(text.substr(code, text.find("\n```", code) + 1 - code), file.substr(file.find('\n') + 1)) << page;
      ++blocks;
    }
  }
  EXPECT_GE(blocks, 2);
  EXPECT_LT(read(kRoot / "README.md").find("<!-- snippet: file examples/quick_start.cpp -->"),
            read(kRoot / "README.md").find("```cpp\n"));
}

/// Every `norma: ...` of the page on placements is the start of a message of the library.
TEST(Docs, CompilerMessagesAreTheLibrarys) {
  std::string headers;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / "include"))
    if (entry.is_regular_file()) headers += read(entry.path());
  const std::string text = read(kRoot / "docs/adding-a-placement.md"), mark = "`norma: ";
  int messages = 0;
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const std::string message = text.substr(at + 1, text.find('`', at + 1) - at - 1);
    EXPECT_NE(headers.find('"' + message), std::string::npos) << message;
    ++messages;
  }
  EXPECT_GT(messages, 5);
}

}  // namespace
