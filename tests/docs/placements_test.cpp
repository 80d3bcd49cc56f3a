// SPDX-License-Identifier: MIT
// The table of docs/placements.md: its last column is what a block keeps, and every row has a section and a picture.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include <norma/norma.hpp>

namespace {

using namespace norma;

constexpr Index kWidth = 24, kHeads = 3, kHidden = 40;

/// Opens what a block is made of, to plan a pass without running it.
template <class Policy>
struct Planned : Block<Policy> {
  using Block<Policy>::Block;
  Index tape_bytes(Index tokens) const {
    Plan plan(Mode::training);
    const Call call;
    plan.child(this->core(), Pass{{1, tokens}, call}, MatrixArguments<float>{});
    return plan.tape_bytes();
  }
};

/// Per token and beyond the sublayers. 16 tokens fill whole cache lines, so that differences know no gaps.
template <class Policy>
Index kept() {
  const Planned<Policy> block({kWidth, kHeads, kHidden}, {2, 3});
  const Index all = (block.tape_bytes(48) - block.tape_bytes(16)) / 32;
  return all - 4 * (4 * kWidth + kHeads + 2 * kHidden);
}

const std::map<std::string, std::function<Index()>> kPlacements = {
    {"PostLN", kept<PostLN>},
    {"PreLN", kept<PreLN>},
    {"DeepNorm", kept<DeepNorm>},
    {"GLMDeepNorm", kept<GLMDeepNorm>},
    {"Sandwich", kept<Sandwich>},
    {"PeriLN", kept<PeriLN>},
    {"OutputNorm", kept<OutputNorm>},
    {"NormFormer", kept<NormFormer>},
    {"SubLN", kept<SubLN>},
    {"LayerNormScaling", kept<LayerNormScaling>},
    {"ScaledResidual", kept<ScaledResidual>},
    {"HybridNorm", kept<HybridNorm>},
    {"B2T", kept<B2T>},
    {"Keel", kept<Keel>},
    {"MixLN", kept<MixLN>},
    {"ReZero", kept<ReZero>},
    {"LayerScale", kept<LayerScale>},
    {"ResiDual", kept<ResiDual>},
    {"SiameseNorm", kept<SiameseNorm>},
    {"HyperConnections<4>", kept<HyperConnections<4>>},
    {"DynamicHyperConnections<4>", kept<DynamicHyperConnections<4>>},
    {"Admin", kept<Admin>},
    {"TFixup", kept<TFixup>},
    {"Fixup", kept<Fixup>},
    {"NGPT", kept<NGPT>},
    {"GatedCrossAttention", kept<GatedCrossAttention>},
    {"PreLNPerBranch", kept<PreLNPerBranch>},
    {"WithQKNorm<PreLN>", kept<WithQKNorm<PreLN>>},
    {"WithQKNorm<PreLN, WholeQKNorm>", kept<WithQKNorm<PreLN, WholeQKNorm>>},
    {"WithQKNorm<PreLN, CosineQKNorm>", kept<WithQKNorm<PreLN, CosineQKNorm>>},
};

struct Row {
  std::string name, section, memory;
};
std::string page() {
  std::ifstream file(NORMA_SOURCE_DIR "/docs/placements.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}
/// Rows as | [`Name`](#section) | ... | `memory` |
std::vector<Row> table() {
  std::vector<Row> rows;
  std::istringstream lines(page());
  for (std::string line; std::getline(lines, line);) {
    const std::string opening = "| [`", closing = "` |";
    if (!line.starts_with(opening)) continue;
    const auto name_end = line.find("`](#"), section_end = line.find(") |");
    const auto memory = line.rfind("| `");
    if (name_end == line.npos || section_end == line.npos || memory == line.npos || !line.ends_with(closing)) {
      ADD_FAILURE() << "not a row: " << line;
      continue;
    }
    rows.push_back({line.substr(opening.size(), name_end - opening.size()),
                    line.substr(name_end + 4, section_end - name_end - 4),
                    line.substr(memory + 3, line.size() - closing.size() - memory - 3)});
  }
  return rows;
}
/// Sums of terms such as 20d, 4F, 36H and 12.
Index value(const std::string& formula) {
  Index sum = 0;
  std::istringstream terms(formula);
  for (std::string term; terms >> term;) {
    if (term == "+") continue;
    std::size_t digits = 0;
    const Index factor = std::stoll(term, &digits);
    const std::string unit = term.substr(digits);
    EXPECT_TRUE(unit.empty() || unit == "d" || unit == "F" || unit == "H") << formula;
    sum += factor * (unit == "d" ? kWidth : unit == "F" ? kHidden : unit == "H" ? kHeads : 1);
  }
  return sum;
}

TEST(PlacementsPage, StatesWhatABlockKeeps) {
  EXPECT_EQ(value("20d + 4F + 36H + 12"), 20 * kWidth + 4 * kHidden + 36 * kHeads + 12);
  std::map<std::string, int> found;
  for (const Row& row : table()) {
    ++found[row.name];
    const auto known = kPlacements.find(row.name);
    ASSERT_NE(known, kPlacements.end()) << row.name << " is in the table and not in this test";
    EXPECT_EQ(value(row.memory), known->second()) << row.name << ": " << row.memory;
  }
  for (const auto& [name, measure] : kPlacements) EXPECT_EQ(found[name], 1) << name;
}
TEST(PlacementsPage, EveryRowHasASectionAndAPicture) {
  const std::string text = page();
  for (const Row& row : table()) {
    std::string heading = row.name.substr(0, row.name.find('<')), anchor = heading;
    std::transform(anchor.begin(), anchor.end(), anchor.begin(), [](unsigned char c) { return std::tolower(c); });
    EXPECT_EQ(row.section, anchor);
    const auto section = text.find("\n## " + heading + "\n");
    ASSERT_NE(section, text.npos) << heading;
    const std::string body = text.substr(section, text.find("\n## ", section + 1) - section);
    const auto picture = body.find("](placements/");
    ASSERT_NE(picture, body.npos) << heading;
    const auto name = body.substr(picture + 2, body.find(")", picture) - picture - 2);
    EXPECT_TRUE(std::ifstream(NORMA_SOURCE_DIR "/docs/" + name).good()) << name;
  }
}

}  // namespace
