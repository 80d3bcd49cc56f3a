// SPDX-License-Identifier: MIT
// Tables of names and their mistakes. Files: tests/io/names_test.cpp.
#include <norma/core/named_tensors.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using norma::Index;
using norma::Kind;
using norma::Layout;
using norma::Name;
using norma::RowGroups;
using norma::Stored;
using Problems = std::vector<std::string>;

Layout layout() {
  Layout layout;
  layout.add("embedding.weight", 7, 3, Kind::embedding);
  for (int i = 0; i < 11; i += 10) {
    const Layout::Level level(layout, Layout::block_level(i));
    layout.add_fused("gate_up.weight", 4, 3, Kind::up,
                     {{layout.full_name("gate.weight"), Kind::up, {0, 2, 2, 2}},
                      {layout.full_name("up.weight"), Kind::up, {2, 2, 2, 2}}});
    layout.add("down.weight", 3, 2, Kind::down);
    layout.add("down.bias", 1, 3, Kind::bias);
  }
  return layout;
}
const std::vector<Name> kNames{{"embedding.weight", "wte"},
                               {"layers.*.gate.weight", "h.*.gate"},
                               {"layers.*.up.weight", "h.*.up"},
                               {"layers.*.down.weight", "h.*.down"},
                               {"layers.*.down.bias", "h.*.bias"},
                               {"layers.*.up.bias", "h.*.none"},
                               {"", "h.*.mask"}};
Problems with(const Name& name) {
  std::vector<Name> names = kNames;
  names.push_back(name);
  return check_names(layout(), names);
}
/// The table with another line in place of line i.
Problems instead(std::size_t i, const Name& name) {
  std::vector<Name> names = kNames;
  names[i] = name;
  return check_names(layout(), names);
}

TEST(NamedTensors, InTheOrderOfTheLayout) {
  const Layout of = layout();
  const auto named = named_tensors(of, kNames, "model.");
  EXPECT_EQ(named.problems, Problems());
  std::vector<std::string> names;
  for (const auto& tensor : named.tensors) names.push_back(tensor.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"model.wte", "model.h.0.gate", "model.h.0.up", "model.h.0.down", "model.h.0.bias",
                                      "model.h.10.gate", "model.h.10.up", "model.h.10.down", "model.h.10.bias"}));
  EXPECT_EQ(named.tensors[6].pieces[0].name, "layers.10.up.weight");
  EXPECT_EQ(named.tensors[6].pieces[0].at(1, 2), of.find("layers.10.gate_up.weight").at.offset + 3 * 3 + 2);
}

TEST(NamedTensors, TwoStars) {
  Layout layout;
  layout.add("stages.3.blocks.12.gamma", 1, 3, Kind::norm);
  const Name names[] = {{"stages.*.blocks.*.gamma", "s*.b*.norm"}};
  EXPECT_EQ(named_tensors(layout, names).tensors.at(0).name, "s3.b12.norm");
}

/// Blocks that stand in layers 0 and 10 alone, numbered by themselves.
TEST(NamedTensors, ACountOfWhatThereIs) {
  const Name names[] = {{"embedding.weight", "wte"},
                        {"layers.*.gate.weight", "h.#.gate"},
                        {"layers.*.up.weight", "h.#.up"},
                        {"layers.*.down.weight", "h.*.down"},
                        {"layers.*.down.bias", "h.#.bias"}};
  const Layout of = layout();
  const auto named = named_tensors(of, names);
  EXPECT_EQ(named.problems, Problems());
  ASSERT_EQ(named.tensors.size(), 9);
  EXPECT_EQ(named.tensors[4].name, "h.0.bias");
  EXPECT_EQ(named.tensors[6].name, "h.1.up");
  EXPECT_EQ(named.tensors[6].pieces[0].name, "layers.10.up.weight");
  EXPECT_EQ(named.tensors[7].name, "h.10.down");
  EXPECT_EQ(named.tensors[8].name, "h.1.bias");
}

TEST(CheckNames, SaysWhatIsWrong) {
  EXPECT_EQ(check_names(layout(), kNames), Problems());
  EXPECT_EQ(instead(0, {"embeding.weight", "wte"}), (Problems{"parameter \"embedding.weight\" has no line"}));
  EXPECT_EQ(instead(2, {"layers.*.up", "h.*.up"}), (Problems{"parameter \"layers.0.up.weight\" has no line",
                                                             "parameter \"layers.10.up.weight\" has no line"}));
  EXPECT_EQ(with({"embedding.weight", "other"}),
            (Problems{"parameter \"embedding.weight\" has two lines, \"wte\" and \"other\""}));
  EXPECT_EQ(with({"embedding.weight", "other", Stored::copy}), Problems());
  EXPECT_EQ(instead(0, {"embedding.weight", "wte", Stored::copy}),
            (Problems{"parameter \"embedding.weight\" has no line but a copy's"}));
  EXPECT_EQ(
      with({"layers.0.gate_up.weight", "h.0.gate_up"}),
      (Problems{"parameter \"layers.0.gate.weight\" has a line, and so has \"layers.0.gate_up.weight\", which it is "
                "part of",
                "parameter \"layers.0.up.weight\" has a line, and so has \"layers.0.gate_up.weight\", which it is "
                "part of"}));
  EXPECT_EQ(with({"", "wte"}), (Problems{"tensor \"wte\" is passed over by one line and named by another"}));
  std::vector<Name> names = kNames;
  names.push_back({"", "wte"});
  EXPECT_EQ(named_tensors(layout(), names, "model.").problems,
            (Problems{"tensor \"model.wte\" is passed over by one line and named by another"}));
  EXPECT_EQ(with({"head.weight", ""}), (Problems{"a line for \"head.weight\" names no tensor"}));
  for (const Name& line : {Name{"head.**", "head.**"}, {"head.**", "head"}, {"head", "head.**"}, {"", "**.weight"}})
    EXPECT_TRUE(with(line).at(0).ends_with("\": ** stands at the end of what is passed over alone")) << line.stored;
  EXPECT_EQ(with({"", "vision.**"}), Problems());
  EXPECT_EQ(with({"", "h.10.g**"}), (Problems{"tensor \"h.10.gate\" is passed over by one line and named by another"}));
  EXPECT_EQ(with({"head.*.weight", "head"}), (Problems{"\"head.*.weight\" has not as many stars as \"head\""}));
}

TEST(CheckNames, WhatOneTensorCannotHold) {
  EXPECT_EQ(instead(3, {"layers.*.down.weight", "h.*.up"}).size(), 2u);
  EXPECT_EQ(
      instead(3, {"layers.*.down.weight", "h.*.up"}).at(0),
      "tensor \"h.0.up\" cannot hold both \"layers.0.up.weight\" and \"layers.0.down.weight\": they differ in size");
  EXPECT_EQ(instead(4, {"layers.*.down.bias", "h.*.down"}).at(0),
            "tensor \"h.0.down\" cannot hold both \"layers.0.down.weight\" and \"layers.0.down.bias\": they differ in "
            "size");
  // Rows may differ in number, but not if they take turns.
  EXPECT_EQ(instead(0, {"embedding.weight", "h.0.up"}), Problems());
  std::vector<Name> names = kNames;
  names[0] = {"embedding.weight", "h.0.up", Stored::interleaved};
  names[2].how = Stored::interleaved;
  EXPECT_EQ(check_names(layout(), names).size(), 1u);
  names[2].how = Stored::transposed;
  EXPECT_EQ(check_names(layout(), names).at(0), "tensor \"h.0.up\" is stored in two ways");
  names[0].how = names[2].how = Stored::patches;
  EXPECT_EQ(check_names(layout(), names).at(0),
            "tensor \"h.0.up\" holds several parameters, and so can have neither copies nor be stored like this");
  names = kNames;
  names[0] = {"embedding.weight", "h.0.up"};
  names.push_back({"embedding.weight", "other", Stored::copy});
  EXPECT_EQ(check_names(layout(), names).size(), 1u) << "a copy of a part";
  EXPECT_EQ(instead(1, {"layers.*.gate.weight", "gate"}).at(1),
            "tensor \"gate\" has one line for both \"layers.0.gate.weight\" and another parameter");
  names = kNames;
  names.push_back({"embedding.weight", "other", Stored::copy});
  names.push_back({"layers.0.down.weight", "other", Stored::copy});
  EXPECT_EQ(check_names(layout(), names), (Problems{"tensor \"other\" is a copy of two parameters"}));
}

/// Whether 16 columns are 4 channels of [2, 2] or one of [4, 4], the layout says.
TEST(CheckNames, Patches) {
  const Name names[] = {{"stem.weight", "conv", Stored::patches}};
  Layout layout;
  {
    const Layout::Level level(layout, "stem");
    layout.add("weight", 3, 16, Kind::embedding);
    EXPECT_EQ(check_names(layout, names),
              (Problems{"tensor \"conv\" is stored as patches, which \"stem.weight\" is no weight of"}));
    EXPECT_THROW(layout.set_patch("weight", {3, 2, 2}), norma::Error);
    EXPECT_THROW(layout.set_patch("other", {4, 2, 2}), norma::Error);
    layout.set_patch("weight", {4, 2, 2});
  }
  EXPECT_EQ(check_names(layout, names), Problems());
  const auto tensors = named_tensors(layout, names).tensors;
  EXPECT_EQ(tensors[0].shape(), (std::vector<Index>{3, 4, 2, 2}));
  EXPECT_FALSE(tensors[0].fits({3, 1, 4, 4}));
}

TEST(CheckNames, OrdersOfRows) {
  const std::string order = " has not the order of rows that its line says: see Dimensions::projections";
  std::vector<Name> names = kNames;
  names[1] = {"layers.*.gate_up.weight", "h.*.gate_up"};
  names[2] = {"", "h.*.nothing"};
  EXPECT_EQ(check_names(layout(), names), Problems());
  for (const Stored how : {Stored::per_head, Stored::interleaved}) {
    names[1].how = how;
    EXPECT_EQ(check_names(layout(), names).at(0), "parameter \"layers.0.gate_up.weight\"" + order);
  }
  EXPECT_EQ(instead(2, {"layers.*.up.weight", "h.*.up", Stored::per_head}).at(0),
            "parameter \"layers.0.up.weight\"" + order);
  EXPECT_EQ(instead(0, {"embedding.weight", "wte", Stored::per_head}),
            (Problems{"parameter \"embedding.weight\"" + order}));
}

}  // namespace
