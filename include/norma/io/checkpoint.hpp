// SPDX-License-Identifier: MIT
// Checkpoints as other people keep them: one file, or several, with an index that says which file holds which tensor,
//
//   {"metadata": {...}, "weight_map": {"tensor": "model-00001-of-00002.safetensors", ...}}
#pragma once

#include <norma/io/safetensors_file.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <system_error>
#include <vector>

namespace norma::inline v0_1::inline NORMA_TARGET {

namespace detail {

/// The files that an index names, which lie beside it.
inline std::vector<std::filesystem::path> files_of_index(const std::filesystem::path& path) {
  const auto refuse = [&](const std::string& problem) { fail(path.string() + ": " + problem); };
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse("no file to read");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto index = nlohmann::json::parse(text, nullptr, false);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object())
    refuse("is no index of a checkpoint: it has no \"weight_map\"");
  std::set<std::string> names;
  for (const auto& name : index["weight_map"]) {
    if (!name.is_string()) refuse("is no index of a checkpoint: a file's name is no text");
    names.insert(name.get<std::string>());
  }
  std::vector<std::filesystem::path> files;
  std::string missing;
  std::error_code error;
  for (const std::string& name : names) {
    // An index comes from elsewhere: it has no say over other directories.
    if (name.empty() || std::filesystem::path(name).filename() != name || name == "." || name == "..")
      refuse("names the file " + in_quotes(name) + ", wanted one beside it");
    files.push_back(path.parent_path() / name);
    if (!std::filesystem::is_regular_file(files.back(), error))
      missing += (missing.empty() ? "" : ", ") + in_quotes(name);
  }
  if (!missing.empty()) refuse("names files that are not there: " + missing);
  return files;
}

}  // namespace detail

/// Reads a safetensors file; of a path that ends in .json, an index and the files that it names; of a directory, its
/// model.safetensors or model.safetensors.index.json. All of it is in memory at once. \throws Error as
/// Safetensors::read and join do, for an index that is none, and for files that it names and that are not there.
inline Safetensors read_checkpoint(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    for (const char* name : {"model.safetensors", "model.safetensors.index.json"})
      if (std::filesystem::exists(path / name, error)) return read_checkpoint(path / name);
    fail(path.string() + ": holds neither model.safetensors nor model.safetensors.index.json");
  }
  if (path.extension() != ".json") return Safetensors::read(path);
  std::vector<Safetensors> files;
  for (const auto& file : detail::files_of_index(path)) files.push_back(Safetensors::read(file));
  return Safetensors::join(files, path.string());
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
