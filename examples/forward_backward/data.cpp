// SPDX-License-Identifier: MIT
#include "data.hpp"

#include <fstream>
#include <iterator>
#include <norma/core/rng.hpp>

std::string read_text(const std::string& path, std::size_t least) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw UsageError("--file: cannot read \"" + path + "\".");
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) throw UsageError("--file: cannot read \"" + path + "\".");
  if (text.size() < least)
    throw UsageError("--file: \"" + path + "\" has " + std::to_string(text.size()) + " bytes, and a window needs " +
                     std::to_string(least) + ".");
  return text;
}

Batch windows(const std::string& text, long batch, long tokens, long seed) {
  const norma::Rng rng = norma::Rng(static_cast<std::uint64_t>(seed)).stream("windows");
  Batch b;
  for (long i = 0; i < batch; ++i) {
    const double places = static_cast<double>(text.size() - static_cast<std::size_t>(tokens));
    const auto at = static_cast<std::size_t>(rng.uniform(static_cast<std::uint64_t>(i)) * places);
    for (std::size_t t = 0; t < static_cast<std::size_t>(tokens); ++t) {
      b.ids.push_back(static_cast<unsigned char>(text[at + t]));
      b.targets.push_back(static_cast<unsigned char>(text[at + t + 1]));
    }
  }
  return b;
}

std::vector<std::int32_t> labels(long count, long classes, long seed) {
  const norma::Rng rng = norma::Rng(static_cast<std::uint64_t>(seed)).stream("labels");
  std::vector<std::int32_t> r;
  for (long i = 0; i < count; ++i)
    r.push_back(static_cast<std::int32_t>(rng.uniform(static_cast<std::uint64_t>(i)) * static_cast<double>(classes)));
  return r;
}
