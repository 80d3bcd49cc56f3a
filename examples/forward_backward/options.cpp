// SPDX-License-Identifier: MIT
#include "options.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>

#ifndef NORMA_EXAMPLE_DATA_DIR
#define NORMA_EXAMPLE_DATA_DIR "examples/data"
#endif

namespace {

long parse_number(const std::string& name, const std::string& text, long most) {
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno != 0 || value < 1 || value > most)
    throw UsageError(name + " takes a whole number from 1 to " + std::to_string(most) + ", not \"" + text + "\".");
  return value;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& w : words) text += (text.empty() ? "" : ", ") + w;
  return text;
}

/// Lines of words, none longer than 100 unless a word is.
std::string wrapped(const std::vector<std::string>& words) {
  std::string text = " ";
  std::size_t line = 1;
  for (const auto& w : words) {
    const bool full = line + w.size() > 98;
    if (full) text += "\n ";
    line = (full ? 1 : line) + 1 + w.size();
    text += " " + w;
  }
  return text + "\n";
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::vector<std::string> parse_placements(const std::string& text, const Names& names) {
  const auto not_here = [&](const std::string& name) {
    throw UsageError("--placement " + name + ": this program holds " + join(names.here) +
                     "; the target all_placements builds forward_backward_all, which holds every one.");
  };
  if (text == "all" && names.here.size() < names.all.size()) not_here(text);
  if (text == "all") return names.all;
  std::vector<std::string> chosen;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string name = text.substr(at, end - at);
    if (!contains(names.all, name))
      throw UsageError("--placement knows " + join(names.all) + " and all, not \"" + name + "\".");
    if (!contains(names.here, name)) not_here(name);
    chosen.push_back(name);
    at = end + 1;
  }
  return chosen;
}

}  // namespace

Options parse_options(int argc, char** argv, const Names& names) {
  Options o;
  o.file = NORMA_EXAMPLE_DATA_DIR "/coriolanus.txt";
  o.placements = names.usual;
  // The defaults of width, tokens, batch and precision depend on the input.
  std::optional<long> width, tokens, batch;
  std::optional<Precision> precision;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help" || name == "-h") {
      o.help = true;
      return o;
    }
    static const char* const kNames[] = {"--input", "--file",  "--layers", "--width",     "--heads", "--tokens",
                                         "--batch", "--seeds", "--dtype",  "--placement", "--csv"};
    if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames))
      throw UsageError("There is no option \"" + name + "\"; --help lists them.");
    if (i + 1 == argc) throw UsageError(name + " needs a value; --help says which.");
    const std::string value = argv[++i];
    if (name == "--input") {
      if (value != "text" && value != "noise") throw UsageError("--input is text or noise, not \"" + value + "\".");
      o.input = value == "text" ? InputKind::text : InputKind::noise;
    } else if (name == "--file") {
      o.file = value;
    } else if (name == "--layers") {
      o.layers = parse_number(name, value, 10000);
    } else if (name == "--width") {
      width = parse_number(name, value, 65536);
    } else if (name == "--heads") {
      o.heads = parse_number(name, value, 65536);
    } else if (name == "--tokens") {
      tokens = parse_number(name, value, 1 << 20);
    } else if (name == "--batch") {
      batch = parse_number(name, value, 1 << 20);
    } else if (name == "--seeds") {
      o.seeds = parse_number(name, value, 10000);
    } else if (name == "--dtype") {
      if (value != "f32" && value != "f64") throw UsageError("--dtype is f32 or f64, not \"" + value + "\".");
      precision = value == "f32" ? Precision::f32 : Precision::f64;
    } else if (name == "--placement") {
      o.placements = parse_placements(value, names);
    } else {
      o.csv = value;
    }
  }
  const bool noise = o.input == InputKind::noise;
  o.width = width.value_or(noise ? 64 : 128);
  o.tokens = tokens.value_or(noise ? 32 : 128);
  o.batch = batch.value_or(noise ? 1 : 4);
  o.precision = precision.value_or(noise ? Precision::f64 : Precision::f32);
  if (o.width % o.heads != 0)
    throw UsageError("--heads " + std::to_string(o.heads) + " does not divide --width " + std::to_string(o.width) +
                     ".");
  return o;
}

static const char* const kSmallProgram =
    "                      This program holds these alone, for each takes 15 seconds or more to build; the\n"
    "                      target all_placements builds forward_backward_all, the same with every one:\n"
    "                        cmake --build build/release --target all_placements\n";

std::string help_text(const Names& names) {
  return "Runs a causal stack forward and backward under each norm placement, and shows what it does at init.\n"
         "\n"
         "  --input text|noise  bytes of a text against the next byte (default), or Gaussian inputs against\n"
         "                      uniform labels of 128 classes: the setting in which placements are compared\n"
         "  --file PATH         the text (default: the play that comes with the example)\n"
         "  --placement NAMES   some of them by name, or all (default: " +
         join(names.usual) + ")\n" + (names.here.size() < names.all.size() ? kSmallProgram : "") +
         "  --layers N          blocks (default 12)\n"
         "  --width N           of the stream (default 128; noise 64); the feed-forward is 4 times as wide\n"
         "  --heads N           of attention (default 4)\n"
         "  --tokens N          a sequence (default 128; noise 32)\n"
         "  --batch N           sequences (default 4; noise 1)\n"
         "  --seeds N           networks to average over (default 1)\n"
         "  --dtype f32|f64     of the pass (default f32; noise f64)\n"
         "  --csv PATH          write the table there, too, all digits\n"
         "\n"
         "Columns: parameters; workspace, the planned memory of forward and backward; loss at init beside the log\n"
         "of the classes; RMS of the stream after, and norm of the gradient of the feed-forward's output matrix in,\n"
         "the first, middle and last block; time of forward and backward per token; and the worst disagreement of\n"
         "sampled gradients with central differences, in a double copy of the weights with GELU on 16 tokens\n"
         "(per tensor: largest difference over the largest gradient).\n"
         "\n"
         "Placements:\n" +
         wrapped(names.all);
}
