// SPDX-License-Identifier: MIT
// Files that do not fit a table of names: one error that says all, and nothing written. Tied weights; hostile names.
#include <functional>

#include "io_files.hpp"
#include "named_layouts.hpp"

namespace {

using namespace io_test;
using norma::Kind;
using norma::Layout;
using norma::Name;
using norma::Parameters;
using norma::Stored;
using Tensors = std::vector<FileTensor>;

constexpr Name kNames[] = {{"embedding.weight", "wte.weight"},
                           {"layers.*.attention.query.weight", "h.*.attn.weight", Stored::transposed},
                           {"layers.*.attention.key.weight", "h.*.attn.weight", Stored::transposed},
                           {"layers.*.feed_forward.up.weight", "h.*.up.weight", Stored::transposed},
                           {"layers.*.feed_forward.up.bias", "h.*.up.bias"},
                           {"head.weight", "lm_head.weight"},
                           {"embedding.weight", "lm_head.weight", Stored::copy},
                           {"", "h.*.attn.mask"}};

struct Options {
  bool bias = true, head = false;
  int layers = 2;
};
std::shared_ptr<const Layout> layout(Options options = {}) {
  auto layout = std::make_shared<Layout>();
  layout->add("embedding.weight", 4, 3, Kind::embedding);
  for (int i = 0; i < options.layers; ++i) {
    const Layout::Level level(*layout, Layout::block_level(i));
    layout->add("attention.query.weight", 4, 3, Kind::query);
    layout->add("attention.key.weight", 2, 3, Kind::key);
    layout->add("feed_forward.up.weight", 5, 3, Kind::up);
    if (options.bias) layout->add("feed_forward.up.bias", 1, 5, Kind::bias);
  }
  if (options.head) layout->add("head.weight", 4, 3, Kind::head);
  return layout;
}
Tensors tensors(const Parameters<float>& weights, std::string_view prefix = "") {
  return norma::file_tensors(weights, kNames, prefix);
}
FileTensor& find(Tensors& tensors, std::string_view name) {
  return *std::find_if(tensors.begin(), tensors.end(), [&](const FileTensor& t) { return t.name == name; });
}
/// What is said of a file of these tensors, and whether the weights were spared.
std::string error(const Tensors& tensors, Options options = {}, std::string_view prefix = "") {
  const Bytes bytes = norma::safetensors_bytes(tensors);
  Parameters<float> weights(layout(options));
  for (float& v : weights.flat()) v = 7;
  const auto before = weights;
  const std::string message = error_of([&] { norma::load(Safetensors::parse(bytes), weights, kNames, prefix); });
  EXPECT_EQ(surface::same_bits(before, weights), !message.empty()) << message;
  return message;
}
FileTensor floats(const std::string& name, const std::vector<float>& values) {
  return {name, DataType::f32, {std::ssize(values)}, std::as_bytes(std::span(values))};
}

TEST(NamesErrors, OneErrorForAll) {
  Tensors file = tensors(numbered(layout()));
  const std::vector<std::int64_t> integers(5);
  const std::vector<float> more(12, 1.0f);
  std::erase_if(file, [](const FileTensor& t) { return t.name == "h.0.attn.weight"; });
  find(file, "h.1.attn.weight").shape = {6, 3};
  find(file, "h.0.up.weight").shape = {5, 3};
  find(file, "h.1.up.bias") = {"h.1.up.bias", DataType::i64, {5}, std::as_bytes(std::span(integers))};
  file.push_back({"lm_head.weight", DataType::f32, {4, 3}, std::as_bytes(std::span(more))});
  file.push_back(floats("h.0.rotary", more));
  EXPECT_EQ(error(file),
            "safetensors does not fit these weights:\n"
            "  tensor \"lm_head.weight\" (embedding.weight) is not equal to \"wte.weight\"\n"
            "  tensor \"h.0.attn.weight\" (layers.0.attention.query.weight, layers.0.attention.key.weight) is missing\n"
            "  tensor \"h.0.up.weight\" (layers.0.feed_forward.up.weight) has shape [5, 3], wanted [3, 5], transposed\n"
            "  tensor \"h.1.attn.weight\" (layers.1.attention.query.weight, layers.1.attention.key.weight) has shape "
            "[6, 3], wanted [3, 6], transposed\n"
            "  tensor \"h.1.up.bias\" (layers.1.feed_forward.up.bias) has dtype I64, wanted F16, BF16, F32 or F64\n"
            "  tensor \"h.0.rotary\" belongs to no parameter");
}

// The message is the first problem's alone, then; and each leaves the weights as they were.
TEST(NamesErrors, EachAlone) {
  const Tensors good = tensors(numbered(layout()));
  EXPECT_EQ(error(good), "");
  const std::vector<double> large(5, 1e300);
  const std::vector<float> more(3);
  const auto with = [&](const std::function<void(Tensors&)>& change) {
    Tensors changed = good;
    change(changed);
    const std::string message = error(changed);
    EXPECT_LE(std::count(message.begin(), message.end(), '\n'), 1) << message;
    return message;
  };
  const auto says = [](const std::string& message, const char* part) { return message.find(part) != message.npos; };
  EXPECT_TRUE(says(with([](Tensors& t) { t.pop_back(); }), "\"h.1.up.bias\" (layers.1.feed_forward.up.bias) is mis"));
  EXPECT_TRUE(says(with([&](Tensors& t) { t.push_back(floats("x", more)); }), "\"x\" belongs to no parameter"));
  EXPECT_TRUE(says(with([](Tensors& t) { t[0].shape = {3, 4}; }), "has shape [3, 4], wanted [4, 3]"));
  EXPECT_TRUE(says(with([](Tensors& t) { t[0].shape = {1, 4, 3}; }), "has shape [1, 4, 3], wanted [4, 3]"));
  EXPECT_TRUE(says(with([](Tensors& t) { t[0].shape = {12}; }), "has shape [12], wanted [4, 3]"));
  EXPECT_TRUE(says(with([](Tensors& t) { find(t, "h.0.up.bias").shape = {5, 1}; }), "has shape [5, 1], wanted [5]"));
  EXPECT_EQ(with([](Tensors& t) { find(t, "h.0.up.bias").shape = {1, 5}; }), "") << "one row, as by norma's own names";
  EXPECT_TRUE(says(with([&](Tensors& t) {
                     find(t, "h.0.up.bias") = {"h.0.up.bias", DataType::f64, {5}, std::as_bytes(std::span(large))};
                   }),
                   "has a value that is too large for float"));
}

TEST(NamesErrors, ShapesOfPatchesAndBatches) {
  constexpr Name names[] = {{"p", "p", Stored::patches}, {"e", "e", Stored::batch_of_one}};
  auto layout = std::make_shared<Layout>();
  layout->add("p", 2, 12, Kind::embedding);
  layout->set_patch("p", {3, 2, 2});
  layout->add("e", 3, 4, Kind::embedding);
  const std::vector<float> p(24), e(12);
  const auto fits = [&](std::vector<Index> patches, std::vector<Index> positions) {
    const Bytes bytes =
        norma::safetensors_bytes({{"p", DataType::f32, std::move(patches), std::as_bytes(std::span(p))},
                                  {"e", DataType::f32, std::move(positions), std::as_bytes(std::span(e))}});
    Parameters<float> weights(layout);
    return error_of([&] { norma::load(Safetensors::parse(bytes), weights, names); });
  };
  EXPECT_EQ(fits({2, 3, 2, 2}, {1, 3, 4}), "");
  EXPECT_EQ(fits({2, 12}, {3, 4}),
            "safetensors does not fit these weights:\n"
            "  tensor \"p\" has shape [2, 12], wanted [2, 3, 2, 2]\n"
            "  tensor \"e\" has shape [3, 4], wanted [1, 3, 4]");
  for (const std::vector<Index>& patches :
       {std::vector<Index>{2, 12, 1, 1}, {2, 2, 2, 3}, {3, 2, 2, 2}, {2, 3, 4, 1}, {2, 2, 3, 2}})
    EXPECT_NE(fits(patches, {1, 3, 4}), "");
  EXPECT_NE(fits({2, 3, 2, 2}, {1, 4, 3}), "");
}

// Case F08: a checkpoint without biases, or a network without them; one table serves both.
TEST(CasesF, F08_CheckpointsWithoutBias) {
  const Tensors with = tensors(numbered(layout())), without = tensors(numbered(layout({.bias = false})));
  EXPECT_EQ(error(without, {.bias = false}), "");
  EXPECT_EQ(
      error(with, {.bias = false}),
      "safetensors does not fit these weights:\n"
      "  tensor \"h.0.up.bias\" belongs to no parameter: these weights have no \"layers.0.feed_forward.up.bias\"\n"
      "  tensor \"h.1.up.bias\" belongs to no parameter: these weights have no \"layers.1.feed_forward.up.bias\"");
  EXPECT_NE(error(without).find("\"h.1.up.bias\" (layers.1.feed_forward.up.bias) is missing"), std::string::npos);
}

TEST(NamesErrors, AnotherDepth) {
  const Tensors three = tensors(numbered(layout({.layers = 3})));
  EXPECT_NE(
      error(three).find("\"h.2.up.bias\" belongs to no parameter: these weights have no \"layers.2.feed_forward."),
      std::string::npos);
  const std::string message = error(three, {.layers = 40});
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 21) << message;
  EXPECT_TRUE(message.ends_with("\n  and 91 more")) << message;
}

TEST(NamesErrors, NamesThatOnlyLookRight) {
  const std::vector<float> values(3);
  const std::string huge = "h.99999999999999999999999999.up.bias", mask = "h.99999999999999999999999999.attn.mask";
  for (const std::string name :
       {"h.007.up.bias", "h.-1.up.bias", "h.*.up.bias", "h.00.up.bias", "h..up.bias", "h.0x.up.bias", "h.1.up.bias ",
        " h.1.up.bias", "h.+1.up.bias", "h.2.up.bias", "", "h.*.attn.mask", "h.00.attn.mask", "h..attn.mask",
        "h.0.attn.mask.", "layers.*.", "embedding.weight", "layers.0.feed_forward.up.bias", huge.c_str()}) {
    Tensors file = tensors(numbered(layout()));
    file.push_back(floats(name, values));
    EXPECT_NE(error(file).find("tensor \"" + name + "\" belongs to no parameter"), std::string::npos) << name;
  }
  for (const std::string& name : {std::string("h.0.attn.mask"), std::string("h.10.attn.mask"), mask}) {
    Tensors file = tensors(numbered(layout()));
    file.push_back(floats(name, values));
    EXPECT_EQ(error(file), "") << "passed over";
  }
}

/// All below a prefix is another network's.
TEST(NamesErrors, WhatIsPassedOverWhole) {
  const std::vector<float> values(3);
  std::vector<Name> names(std::begin(kNames), std::end(kNames));
  names.push_back({"", "vision.*.**"});
  const auto said = [&](const char* name, std::string_view prefix = "") {
    Tensors file = tensors(numbered(layout()), prefix);
    file.push_back(floats(name, values));
    const Bytes bytes = norma::safetensors_bytes(file);
    Parameters<float> weights(layout());
    return error_of([&] { norma::load(Safetensors::parse(bytes), weights, names, prefix); });
  };
  for (const char* name : {"vision.0.x", "vision.12.layers.3.gate", "vision.0."}) EXPECT_EQ(said(name), "");
  EXPECT_EQ(said("a.vision.0.x", "a."), "");
  for (const char* name : {"vision.x", "vision.0", "vision.00.x", "vision", "my.vision.0.x"})
    EXPECT_NE(said(name).find("belongs to no parameter"), std::string::npos) << name;
}

/// Blocks that are numbered by themselves: the file's number is no layer of norma's.
TEST(NamesErrors, MoreOfWhatIsCounted) {
  constexpr Name names[] = {{"layers.*.cross.gate", "gates.#"}, {"", "scales.#.max"}};
  auto layout = std::make_shared<Layout>();
  for (const char* name : {"layers.1.cross.gate", "layers.3.cross.gate"}) layout->add(name, 1, 3, Kind::scale);
  const std::vector<float> values(3);
  const auto said = [&](Tensors file) {
    file.insert(file.end(), {floats("gates.0", values), floats("gates.1", values)});
    const Bytes bytes = norma::safetensors_bytes(file);
    Parameters<float> weights(layout);
    return error_of([&] { norma::load(Safetensors::parse(bytes), weights, names); });
  };
  EXPECT_EQ(said({}), "");
  EXPECT_EQ(said({floats("scales.0.max", values), floats("scales.1.max", values)}), "");
  EXPECT_EQ(said({floats("gates.2", values)}),
            "safetensors does not fit these weights:\n"
            "  tensor \"gates.2\" belongs to no parameter: these weights have not as many \"layers.*.cross.gate\"");
  EXPECT_EQ(said({floats("gates.02", values)}),
            "safetensors does not fit these weights:\n  tensor \"gates.02\" belongs to no parameter");
}

TEST(NamesErrors, TiedWeights) {
  const auto weights = numbered(layout());
  Tensors file = tensors(weights);
  EXPECT_EQ(std::count_if(file.begin(), file.end(), [](const auto& t) { return t.name == "lm_head.weight"; }), 0);
  FileTensor copy = find(file, "wte.weight");
  copy.name = "lm_head.weight";
  file.push_back(copy);
  EXPECT_EQ(error(file), "");

  std::vector<float> other(weights["embedding.weight"].data(), weights["embedding.weight"].data() + 12);
  other[7] += 0x1p-20f;
  file.back().data = std::as_bytes(std::span(other));
  EXPECT_NE(error(file).find("\"lm_head.weight\" (embedding.weight) is not equal to \"wte.weight\""),
            std::string::npos);
  file.back().shape = {3, 4};
  EXPECT_EQ(error(file),
            "safetensors does not fit these weights:\n"
            "  tensor \"lm_head.weight\" (embedding.weight) has shape [3, 4], wanted [4, 3]");

  // Only the copy is there: it is what is loaded.
  file.back() = copy;
  std::erase_if(file, [](const FileTensor& t) { return t.name == "wte.weight"; });
  const Bytes bytes = norma::safetensors_bytes(file);
  Parameters<float> loaded(layout());
  norma::load(Safetensors::parse(bytes), loaded, kNames);
  EXPECT_TRUE(surface::same_bits(loaded, weights));
  file.pop_back();
  EXPECT_NE(error(file).find("\"wte.weight\" (embedding.weight) is missing"), std::string::npos);
}

// A copy is stored as it is, whichever way its original is.
TEST(NamesErrors, ACopyOfWhatIsTransposed) {
  constexpr Name names[] = {{"w", "turned", Stored::transposed}, {"w", "plain", Stored::copy}};
  auto layout = std::make_shared<Layout>();
  layout->add("w", 2, 3, Kind::up);
  const std::vector<float> plain{1, 2, 3, 4, 5, 6}, turned{1, 4, 2, 5, 3, 6};
  const FileTensor copy{"plain", DataType::f32, {2, 3}, std::as_bytes(std::span(plain))};
  const FileTensor original{"turned", DataType::f32, {3, 2}, std::as_bytes(std::span(turned))};
  for (const Tensors& file : {Tensors{original}, {copy}, {original, copy}}) {
    const Bytes bytes = norma::safetensors_bytes(file);
    Parameters<float> weights(layout);
    norma::load(Safetensors::parse(bytes), weights, names);
    EXPECT_EQ(std::vector<float>(weights["w"].data(), weights["w"].data() + 6), plain);
  }
}

// A copy of another type is equal if its values are.
TEST(NamesErrors, TiedWeightsInSixteenBits) {
  Parameters<float> weights(layout());
  Tensors file = tensors(weights);
  std::vector<float> wide(12, 1.25f);
  std::vector<norma::bfloat16> narrow(12, norma::bfloat16(1.25f));
  find(file, "wte.weight").data = std::as_bytes(std::span(wide));
  file.push_back({"lm_head.weight", DataType::bf16, {4, 3}, std::as_bytes(std::span(narrow))});
  EXPECT_EQ(error(file), "");
  wide[3] = 1.2500001f;
  EXPECT_NE(error(file).find("is not equal"), std::string::npos) << "only after rounding";
}

// Where the head is not tied, the copy's tensor is the head's own.
TEST(NamesErrors, AHeadOfItsOwn) {
  const auto weights = numbered(layout({.head = true}));
  const Tensors file = tensors(weights);
  EXPECT_EQ(error(file, {.head = true}), "");
  const Bytes bytes = norma::safetensors_bytes(file);
  Parameters<float> loaded(layout({.head = true}));
  norma::load(Safetensors::parse(bytes), loaded, kNames);
  EXPECT_TRUE(surface::same_bits(loaded, weights));
  EXPECT_NE(error(file).find("\"lm_head.weight\" (embedding.weight) is not equal"), std::string::npos);
}

TEST(NamesErrors, Prefixes) {
  const auto weights = numbered(layout());
  Tensors file = tensors(weights, "transformer.");
  EXPECT_NE(error(file).find("the file's names begin with \"transformer.\"; give that as prefix"), std::string::npos);
  EXPECT_NE(error(tensors(weights), {}, "transformer.").find("the file's names have no prefix; give none"),
            std::string::npos);
  const std::vector<float> values(3);
  file.push_back(floats("score.weight", values));
  file.push_back(floats("transformer.h.0.attn.mask", values));
  EXPECT_EQ(error(file, {}, "transformer."), "") << "without the prefix: another's";
  file.push_back(floats("transformer.x", values));
  EXPECT_NE(error(file, {}, "transformer.").find("\"transformer.x\" belongs to no parameter"), std::string::npos);
}

TEST(NamesErrors, TheTableIsWrong) {
  const auto weights = numbered(layout());
  const Bytes bytes = norma::safetensors_bytes(tensors(weights));
  Parameters<float> loaded(layout());
  const auto before = loaded;
  const std::string message =
      error_of([&] { norma::load(Safetensors::parse(bytes), loaded, std::span(kNames).last(7)); });
  EXPECT_EQ(message,
            "safetensors does not fit these weights:\n"
            "  parameter \"embedding.weight\" has no line but a copy's\n"
            "  tensor \"wte.weight\" belongs to no parameter");
  EXPECT_TRUE(surface::same_bits(before, loaded));
  Parameters<float> empty;
  EXPECT_NE(error_of([&] { norma::load(Safetensors::parse(bytes), empty, kNames); }).find("the weights are empty"),
            std::string::npos);
}

}  // namespace
