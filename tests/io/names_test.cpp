// SPDX-License-Identifier: MIT
// Weights in somebody else's files: each way of storing, there and back, whichever way the network stores its own.
#include "io_files.hpp"
#include "named_layouts.hpp"

namespace {

using namespace io_test;
using norma::Kind;
using norma::Layout;
using norma::Name;
using norma::Parameters;
using norma::Projections;
using norma::Stored;
using surface::same_bits;

/// A file in memory, and its bytes.
struct File {
  explicit File(const std::vector<FileTensor>& tensors)
      : bytes(norma::safetensors_bytes(tensors)), file(Safetensors::parse(bytes)) {}
  Bytes bytes;
  Safetensors file;
};
File stored(const Parameters<float>& weights, std::span<const Name> names) {
  return File(norma::file_tensors(weights, names));
}
std::vector<float> values(const File& file, const char* name) { return norma::values<float>(file.file[name]); }

TEST(Names, EveryWayOfStoring) {
  constexpr Name names[] = {{"matrix", "m"},
                            {"turned", "t", Stored::transposed},
                            {"patches", "p", Stored::patches},
                            {"grey", "g", Stored::patches},
                            {"positions", "e", Stored::batch_of_one},
                            {"class", "c", Stored::batch_of_one},
                            {"bias", "b", Stored::transposed},
                            {"one", "o"},
                            {"row", "r"}};
  auto layout = std::make_shared<Layout>();
  layout->add("matrix", 3, 5, Kind::up);
  layout->add("turned", 3, 5, Kind::up);
  layout->add("patches", 2, 16, Kind::embedding);
  layout->set_patch("patches", {4, 2, 2});  // not one channel of [4, 4]
  layout->add("grey", 2, 9, Kind::embedding);
  layout->set_patch("grey", {1, 3, 3});
  layout->add("positions", 3, 5, Kind::embedding);
  layout->add("class", 1, 5, Kind::embedding);
  layout->add("bias", 1, 5, Kind::bias);
  layout->add("one", 1, 1, Kind::scale);
  layout->add("row", 1, 5, Kind::up);
  const Parameters<float> weights = numbered(layout);
  const File file = stored(weights, names);

  using Sizes = std::vector<Index>;
  const auto shape = [&](const char* name) { return file.file[name].shape; };
  EXPECT_EQ(file.file.tensors().size(), std::size(names));
  EXPECT_EQ(shape("m"), (Sizes{3, 5}));
  EXPECT_EQ(shape("t"), (Sizes{5, 3}));
  EXPECT_EQ(shape("p"), (Sizes{2, 4, 2, 2}));
  EXPECT_EQ(shape("g"), (Sizes{2, 1, 3, 3}));
  EXPECT_EQ(shape("e"), (Sizes{1, 3, 5}));
  EXPECT_EQ(shape("c"), (Sizes{1, 1, 5}));
  EXPECT_EQ(shape("b"), (Sizes{5}));
  EXPECT_EQ(shape("o"), (Sizes{1}));
  EXPECT_EQ(shape("r"), (Sizes{1, 5}));

  const std::vector<float> turned = values(file, "t");
  for (const Name& name : names) {
    const auto map = weights[name.norma];
    if (name.stored != "t")
      EXPECT_EQ(values(file, std::string(name.stored).c_str()),
                std::vector<float>(map.data(), map.data() + map.size()));
    else
      for (Index r = 0; r < 3; ++r)
        for (Index c = 0; c < 5; ++c) EXPECT_EQ(turned[static_cast<std::size_t>(c * 3 + r)], map(r, c));
  }
  Parameters<float> loaded(layout);
  norma::load(file.file, loaded, names);
  EXPECT_TRUE(same_bits(loaded, weights)) << "padding too";
  EXPECT_EQ(stored(loaded, names).bytes, file.bytes);
}

constexpr Name kApart[] = {{"layers.*.attention.query.weight", "h.*.q.weight"},
                           {"layers.*.attention.query.bias", "h.*.q.bias"},
                           {"layers.*.attention.key.weight", "h.*.k.weight"},
                           {"layers.*.attention.key.bias", "h.*.k.bias"},
                           {"layers.*.attention.value.weight", "h.*.v.weight"},
                           {"layers.*.attention.value.bias", "h.*.v.bias"},
                           {"layers.*.attention.output.weight", "h.*.o.weight"},
                           {"layers.*.attention.output.bias", "h.*.o.bias"},
                           {"layers.*.feed_forward.gate.weight", "h.*.gate.weight"},
                           {"layers.*.feed_forward.gate.bias", "h.*.gate.bias"},
                           {"layers.*.feed_forward.up.weight", "h.*.up.weight"},
                           {"layers.*.feed_forward.up.bias", "h.*.up.bias"},
                           {"layers.*.feed_forward.down.weight", "h.*.down.weight"},
                           {"layers.*.feed_forward.down.bias", "h.*.down.bias"},
                           {"close.gamma", "norm.weight"}};
// One tensor of query, key and value, turned; gate and up row by row in turn.
constexpr Name kTogether[] = {{"layers.*.attention.query.weight", "h.*.qkv.weight", Stored::transposed},
                              {"layers.*.attention.key.weight", "h.*.qkv.weight", Stored::transposed},
                              {"layers.*.attention.value.weight", "h.*.qkv.weight", Stored::transposed},
                              {"layers.*.attention.query.bias", "h.*.qkv.bias"},
                              {"layers.*.attention.key.bias", "h.*.qkv.bias"},
                              {"layers.*.attention.value.bias", "h.*.qkv.bias"},
                              {"layers.*.attention.output.weight", "h.*.o.weight", Stored::transposed},
                              {"layers.*.attention.output.bias", "h.*.o.bias"},
                              {"layers.*.feed_forward.gate.weight", "h.*.gate_up.weight", Stored::interleaved},
                              {"layers.*.feed_forward.up.weight", "h.*.gate_up.weight", Stored::interleaved},
                              {"layers.*.feed_forward.gate.bias", "h.*.gate_up.bias", Stored::interleaved},
                              {"layers.*.feed_forward.up.bias", "h.*.gate_up.bias", Stored::interleaved},
                              {"layers.*.feed_forward.down.weight", "h.*.down.weight"},
                              {"layers.*.feed_forward.down.bias", "h.*.down.bias"},
                              {"close.gamma", "norm.weight"}};

/// The networks that hold the same weights.
std::vector<std::shared_ptr<const Layout>> layouts() {
  std::vector<std::shared_ptr<const Layout>> result;
  for (const auto projections : {Projections::separate, Projections::fused, Projections::fused_per_head})
    result.push_back(transformer({.projections = projections, .packed_gate = projections != Projections::separate}));
  return result;
}

TEST(Names, FusedByTheFileOrByTheNetwork) {
  for (const std::span<const Name> names : {std::span<const Name>(kApart), std::span<const Name>(kTogether)}) {
    const File file = stored(numbered(layouts()[0]), names);
    EXPECT_EQ(file.file.tensors().size(), names.data() == kApart ? 29u : 17u);
    for (const auto& layout : layouts()) {
      const Parameters<float> weights = numbered(layout);
      EXPECT_EQ(stored(weights, names).bytes, file.bytes);
      Parameters<float> loaded(layout);
      norma::load(file.file, loaded, names);
      EXPECT_TRUE(same_bits(loaded, weights));
    }
  }
}

// The elements of fused tensors, told by hand.
TEST(Names, RowsOfAFusedTensor) {
  const auto layout = layouts()[0];
  const Parameters<float> weights = numbered(layout);
  const File file = stored(weights, kTogether);
  const Index q = 12, kv = 6, all = q + 2 * kv, width = 5, hidden = 7;
  const auto qkv = values(file, "h.1.qkv.weight"), bias = values(file, "h.1.qkv.bias");
  const auto at = [](Index i) { return static_cast<std::size_t>(i); };
  EXPECT_EQ(file.file["h.1.qkv.weight"].shape, (std::vector<Index>{width, all}));
  Index first = 0;
  for (const char* part : {"query", "key", "value"}) {
    const auto weight = weights[std::string("layers.1.attention.") + part + ".weight"];
    for (Index r = 0; r < weight.rows(); ++r) {
      for (Index c = 0; c < width; ++c) EXPECT_EQ(qkv[at(c * all + first + r)], weight(r, c));
      EXPECT_EQ(bias[at(first + r)], weights[std::string("layers.1.attention.") + part + ".bias"](0, r));
    }
    first += weight.rows();
  }
  const auto gate_up = values(file, "h.1.gate_up.weight");
  EXPECT_EQ(file.file["h.1.gate_up.weight"].shape, (std::vector<Index>{2 * hidden, width}));
  for (Index r = 0; r < hidden; ++r)
    for (Index c = 0; c < width; ++c) {
      EXPECT_EQ(gate_up[at(2 * r * width + c)], weights["layers.1.feed_forward.gate.weight"](r, c));
      EXPECT_EQ(gate_up[at((2 * r + 1) * width + c)], weights["layers.1.feed_forward.up.weight"](r, c));
    }
}

// Case K02: square or even sizes tell nothing of an order, so the line says it and the network must have it.
TEST(CasesK, K02_TheOrderOfAFusedTensorIsSaid) {
  constexpr Name flat[] = {{"query_key_value.weight", "w"}},
                 per_head[] = {{"query_key_value.weight", "w", Stored::per_head}};
  constexpr Name parts[] = {{"query.weight", "w"}, {"key.weight", "w"}, {"value.weight", "w"}};
  const auto read = [](Projections projections, std::span<const Name> names) {
    auto layout = std::make_shared<Layout>();
    norma::Attention<float> attention({.width = 2, .heads = 2, .attention_bias = false, .projections = projections});
    attention.declare(*layout, 2);
    const std::vector<float> identity{1, 0, 0, 1}, fused{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6};
    const File file({{"w", DataType::f32, {6, 2}, std::as_bytes(std::span(fused))},
                     {"o", DataType::f32, {2, 2}, std::as_bytes(std::span(identity))}});
    std::vector<Name> all(names.begin(), names.end());
    all.push_back({"output.weight", "o"});
    Parameters<float> weights(layout);
    norma::load(file.file, weights, all);
    std::vector<float> rows;
    for (const char* part : {"query.weight", "key.weight", "value.weight"})
      for_each_piece(*layout, [&](const std::string& name, const norma::ParameterInfo& info, norma::RowGroups groups) {
        for (Index r = 0; name == part && r < groups.outputs; ++r) rows.push_back(weights[info.name](groups.row(r), 0));
      });
    return rows;
  };
  using Rows = std::vector<float>;
  EXPECT_EQ(read(Projections::fused, flat), (Rows{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(read(Projections::fused_per_head, per_head), (Rows{1, 4, 2, 5, 3, 6}));
  for (const Projections projections : {Projections::separate, Projections::fused, Projections::fused_per_head})
    EXPECT_EQ(read(projections, parts), (Rows{1, 2, 3, 4, 5, 6})) << "the file's order, whatever the network's";
  const std::string wrong = "not the order of rows that its line says";
  EXPECT_NE(error_of([&] { read(Projections::fused_per_head, flat); }).find(wrong), std::string::npos);
  EXPECT_NE(error_of([&] { read(Projections::fused, per_head); }).find(wrong), std::string::npos);
  EXPECT_NE(error_of([&] { read(Projections::separate, flat); }).find("\"query.weight\" has no line"),
            std::string::npos);
}

TEST(CasesI, I04_GateAndUpOfBothOrders) {
  constexpr Name flat[] = {{"gate.weight", "w"}, {"up.weight", "w"}, {"down.weight", "d"}};
  constexpr Name in_turn[] = {
      {"gate.weight", "w", Stored::interleaved}, {"up.weight", "w", Stored::interleaved}, {"down.weight", "d"}};
  const std::vector<float> w{1, 2, 3, 4}, d{5, 6};
  const File file({{"w", DataType::f32, {4, 1}, std::as_bytes(std::span(w))},
                   {"d", DataType::f32, {1, 2}, std::as_bytes(std::span(d))}});
  for (const bool packed : {false, true}) {
    auto layout = std::make_shared<Layout>();
    norma::SwiGLU<float>({.width = 1, .hidden = 2, .feed_forward_bias = false, .packed_gate = packed})
        .declare(*layout, 1);
    const auto rows = [&](std::span<const Name> names) {
      Parameters<float> weights(layout);
      norma::load(file.file, weights, names);
      const auto a = weights[packed ? "gate_up.weight" : "gate.weight"];
      std::vector<float> values(a.data(), a.data() + a.size());
      if (!packed) values.insert(values.end(), weights["up.weight"].data(), weights["up.weight"].data() + 2);
      return values;
    };
    EXPECT_EQ(rows(flat), (std::vector<float>{1, 2, 3, 4})) << "g0, g1, u0, u1";
    EXPECT_EQ(rows(in_turn), (std::vector<float>{1, 3, 2, 4})) << "g0, u0, g1, u1";
  }
}

// Case K01: a square weight that is stored [in, out].
TEST(CasesK, K01_InOut) {
  constexpr Name names[] = {{"weight", "w", Stored::transposed}};
  auto layout = std::make_shared<Layout>();
  layout->add("weight", 2, 2, Kind::up);
  const std::vector<float> w{1, 2, 3, 4};
  const File file({{"w", DataType::f32, {2, 2}, std::as_bytes(std::span(w))}});
  Parameters<float> weights(layout);
  norma::load(file.file, weights, names);
  EXPECT_EQ(weights["weight"](0, 1), 3);
  EXPECT_EQ(weights["weight"](1, 0), 2);
}

// Every type widens or rounds as it does by norma's own names.
TEST(Names, SixteenBitsAndSixtyFour) {
  constexpr Name names[] = {{"a", "x", Stored::transposed}, {"b", "x", Stored::transposed}};
  auto layout = std::make_shared<Layout>();
  layout->add("a", 1, 2, Kind::up);
  layout->add("b", 2, 2, Kind::up);
  const auto check = [&]<class Value>(DataType type, Value) {
    std::vector<Value> data;
    for (const float v : {1.5f, 2.5f, 3.5f, -4.5f, 5.5f, -0x1p-14f}) data.push_back(static_cast<Value>(v));
    const File file({{"x", type, {2, 3}, std::as_bytes(std::span(data))}});
    Parameters<float> weights(layout);
    norma::load(file.file, weights, names);
    EXPECT_EQ(weights["a"](0, 1), -4.5f);
    EXPECT_EQ(weights["b"](0, 1), 5.5f);
    EXPECT_EQ(weights["b"](1, 0), 3.5f);
    EXPECT_EQ(weights["b"](1, 1), -0x1p-14f);
  };
  check(DataType::f16, norma::half());
  check(DataType::bf16, norma::bfloat16());
  check(DataType::f64, double());
}

// Gradients are parameters, too; and a double network's file is one of doubles.
TEST(Names, DoubleThereAndBack) {
  const auto layout = layouts()[1];
  const Parameters<double> weights = numbered(layout).cast<double>();
  const ScratchFile scratch("names");
  norma::save(scratch.path(), weights, kTogether, "transformer.", {{"format", "pt"}});
  const auto file = Safetensors::read(scratch.path());
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file["transformer.h.0.qkv.weight"].type, DataType::f64);
  Parameters<double> loaded(layout);
  norma::load(scratch.path(), loaded, kTogether, "transformer.");
  EXPECT_EQ(loaded["layers.1.attention.query_key_value.weight"], weights["layers.1.attention.query_key_value.weight"]);
}

TEST(Names, NotSavedUnlessAllHaveNames) {
  const ScratchFile scratch("unnamed");
  const auto weights = numbered(layouts()[0]);
  const auto error = error_of([&] { norma::save(scratch.path(), weights, std::span(kApart).first(14)); });
  EXPECT_EQ(error, "the table of names does not fit these weights:\n  parameter \"close.gamma\" has no line");
  EXPECT_FALSE(std::filesystem::exists(scratch.path()));
  auto layout = std::make_shared<Layout>();
  layout->add("w", 2, 8, Kind::embedding);
  constexpr Name names[] = {{"w", "x", Stored::patches}};
  EXPECT_EQ(error_of([&] { norma::save(scratch.path(), numbered(layout), names); }),
            "the table of names does not fit these weights:\n"
            "  tensor \"x\" is stored as patches, which \"w\" is no weight of");
}

}  // namespace
