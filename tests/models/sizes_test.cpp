// SPDX-License-Identifier: MIT
// Published sizes: parameters are counted without weights, and docs/models.md says the same. That page's tables are
//
//   | `GPT2::small()` | 124,439,808 | 124 M |           the sum here, and what was published: rounded or cut
//   | `ViT::large16()` | 304,326,632 | not 307 M |      where the two differ
#include <norma/core/named_tensors.hpp>
#include <norma/models/all.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace {

using norma::Index;
using namespace norma::models;

struct Row {
  std::string parameters, published;
};
const std::string& page() {
  static const std::string text = [] {
    std::ifstream file(NORMA_SOURCE_DIR "/docs/models.md");
    return std::string{std::istreambuf_iterator<char>(file), {}};
  }();
  return text;
}
/// The page's rows of sizes, by the call that builds each.
const std::map<std::string, Row>& rows() {
  static const std::map<std::string, Row> all = [] {
    std::map<std::string, Row> found;
    std::istringstream lines(page());
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("| `") || line.find("()` | ") == line.npos) continue;
      std::istringstream cells(line.substr(2));
      std::string call, parameters, published;
      std::getline(cells, call, '|');
      std::getline(cells, parameters, '|');
      std::getline(cells, published, '|');
      found[call.substr(1, call.rfind('`') - 1)] = {parameters.substr(1, parameters.size() - 2),
                                                    published.substr(1, published.size() - 2)};
    }
    return found;
  }();
  return all;
}

std::string with_commas(Index value) {
  std::string text = std::to_string(value);
  for (auto at = static_cast<Index>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}
/// Whether a figure such as "6.74 B" is this number rounded or cut to its digits, zeros at the end of a whole number
/// being none; one without a unit is exact.
bool is(const std::string& figure, Index value) {
  const std::size_t end = figure.find(' '), point = figure.find('.');
  if (end == figure.npos) return figure == with_commas(value);
  double last = figure.substr(end + 1) == "M" ? 1e6 : 1e9;  // what the last digit counts
  if (point != figure.npos) last /= std::pow(10, end - point - 1);
  for (std::size_t at = end; point == figure.npos && figure[--at] == '0';) last *= 10;
  const double wanted = std::round(std::stod(figure) * (figure.substr(end + 1) == "M" ? 1e6 : 1e9) / last);
  const double got = static_cast<double>(value) / last;
  return std::round(got) == wanted || std::floor(got) == wanted;
}

std::set<std::string> checked;

template <class S>
void expect_sizes(const std::string& name) {
  EXPECT_NE(page().find("\n| `" + name + "` | "), std::string::npos) << name << " is not among the page's systems";
  for (const Size<S>& size : kSizes<S>) {
    const std::string call = name + "::" + size.name + "()";
    const auto model = build(size.system);
    EXPECT_EQ(model.layout().count(), size.parameters) << call;
    if constexpr (requires { S::kNames; }) {
      EXPECT_EQ(norma::check_names(model.layout(), model.names()).size(), 0) << call;
    }
    checked.insert(call);
    ASSERT_TRUE(rows().contains(call)) << "the page has no row of " << call;
    const Row& row = rows().at(call);
    EXPECT_EQ(row.parameters, with_commas(size.parameters)) << call;
    const bool differs = row.published.starts_with("not ");
    EXPECT_NE(is(row.published.substr(differs ? 4 : 0), size.parameters), differs) << call << ' ' << row.published;
  }
}

TEST(Sizes, AreAsPublished) {
  expect_sizes<GPT2>("GPT2");
  expect_sizes<GPT3>("GPT3");
  expect_sizes<GPTJ>("GPTJ");
  expect_sizes<GPTNeoX>("GPTNeoX");
  expect_sizes<Pythia>("Pythia");
  expect_sizes<PaLM>("PaLM");
  expect_sizes<LLaMA>("LLaMA");
  expect_sizes<GLM130B>("GLM130B");
  expect_sizes<Gemma2>("Gemma2");
  expect_sizes<Gemma3>("Gemma3");
  expect_sizes<OLMo2>("OLMo2");
  expect_sizes<Qwen3>("Qwen3");
  expect_sizes<DeepNet>("DeepNet");
  expect_sizes<CogView>("CogView");
  expect_sizes<DeepNetEncoderDecoder>("DeepNetEncoderDecoder");
  expect_sizes<Transformer>("Transformer");
  expect_sizes<BERT>("BERT");
  expect_sizes<BERTMaskedLM>("BERTMaskedLM");
  expect_sizes<ViT>("ViT");
  expect_sizes<CLIPText>("CLIPText");
  expect_sizes<CLIPVision>("CLIPVision");
  expect_sizes<QFormer>("QFormer");
  expect_sizes<VLMDecoder>("VLMDecoder");
  for (const auto& [call, row] : rows()) EXPECT_TRUE(checked.contains(call)) << "the page has a row of " << call;
}

TEST(Sizes, FiguresAreRoundedOrCut) {
  EXPECT_TRUE(is("6.74 B", 6'738'415'616));
  EXPECT_TRUE(is("6.73 B", 6'738'415'616));
  EXPECT_FALSE(is("6.75 B", 6'738'415'616));
  EXPECT_FALSE(is("6.72 B", 6'738'415'616));
  EXPECT_TRUE(is("124 M", 124'439'808));
  EXPECT_TRUE(is("110 M", 109'482'240));
  EXPECT_FALSE(is("120 M", 109'482'240));
  EXPECT_FALSE(is("65.0 B", 65'285'660'672));
  EXPECT_TRUE(is("65 B", 65'285'660'672));
  EXPECT_TRUE(is("70,426,624", 70'426'624));
  EXPECT_FALSE(is("70,426,624", 70'426'625));
}

/// A 1000-layer network's parameters are found by a hash of their names: this takes milliseconds.
TEST(Sizes, OfAnyDepth) {
  const auto model = build(DeepNet{.width = 16, .heads = 2, .layers = 1000, .hidden = 32, .vocabulary = 11});
  EXPECT_EQ(model.layout().count(), 11 * 16 + 1000 * (4 * 16 * 17 + 2 * 16 * 32 + 32 + 16 + 4 * 16));
  EXPECT_EQ(norma::check_names(model.layout(), model.names()).size(), 0);
}

}  // namespace
