// SPDX-License-Identifier: MIT
// Files of the safetensors format, written.
#pragma once

#include <norma/io/safetensors_file.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// The bytes of a file. They depend on the tensors and the metadata alone, not on their order: wider types come first,
/// so that every tensor is aligned, and then the alphabet. \throws Error for two tensors of one name, a name that is
/// reserved, or data that type and shape do not have.
inline std::vector<std::byte> safetensors_bytes(std::vector<FileTensor> tensors, const Metadata& metadata = {}) {
  std::sort(tensors.begin(), tensors.end(), [](const FileTensor& a, const FileTensor& b) {
    return std::tie(b.type, a.name) < std::tie(a.type, b.name);
  });
  // A list of pairs, in which a look-up is a search: none here.
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  auto& entries = header.get_ref<nlohmann::ordered_json::object_t&>();
  std::unordered_set<std::string_view> names;
  if (!metadata.empty()) {
    entries.emplace_back("__metadata__", metadata);
    names.insert("__metadata__");
  }
  std::size_t size = 0;
  for (const FileTensor& tensor : tensors) {
    const std::size_t end = size + tensor.data.size();
    if (!names.insert(tensor.name).second)
      fail("safetensors: the name " + detail::in_quotes(tensor.name) + " stands there twice");
    entries.emplace_back(
        tensor.name, nlohmann::ordered_json{
                         {"dtype", info(tensor.type).name}, {"shape", tensor.shape}, {"data_offsets", {size, end}}});
    size = end;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');  // so that the data is aligned as it is in the file
  const auto length = static_cast<std::uint64_t>(text.size());

  std::vector<std::byte> bytes;
  bytes.reserve(sizeof length + text.size() + size);
  const auto append = [&](std::span<const std::byte> more) { bytes.insert(bytes.end(), more.begin(), more.end()); };
  append(std::as_bytes(std::span(&length, 1)));
  append(std::as_bytes(std::span(text)));
  for (const FileTensor& tensor : tensors) append(tensor.data);

  // What is read back is what was given: shapes fit the data, names are UTF-8.
  const auto written = Safetensors::parse(bytes);
  for (const FileTensor& tensor : written.tensors()) names.erase(tensor.name);
  for (const FileTensor& tensor : tensors)
    if (names.contains(tensor.name)) fail("safetensors: a name is not UTF-8: " + detail::in_quotes(tensor.name));
  if (written.metadata() != metadata) fail("safetensors: the metadata is not UTF-8");
  return bytes;
}

/// Writes a file, whole or not at all: what was there before stays until its successor is complete, which grows in a
/// new file beside it, <path>.partial, .partial1, ... That is so for whoever reads, and where the program ends on the
/// way (the partial file then stays); where the machine does, nothing is promised: no fsync. \throws Error where it
/// cannot be written, and as safetensors_bytes does.
inline void write_safetensors(const std::filesystem::path& path, std::vector<FileTensor> tensors,
                              const Metadata& metadata = {}) {
  const auto bytes = safetensors_bytes(std::move(tensors), metadata);
  std::filesystem::path partial;
  std::FILE* file = nullptr;
  std::error_code error;
  int others = 0;
  do {
    partial = path;
    partial += ".partial" + (others == 0 ? "" : std::to_string(others));
    file = std::fopen(partial.string().c_str(), "wbx");  // x: fails where it exists
    ++others;
  } while (file == nullptr && std::filesystem::exists(std::filesystem::symlink_status(partial, error)));
  if (file == nullptr) fail(path.string() + ": cannot be written");
  const bool whole = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool closed = std::fclose(file) == 0;
  if (whole && closed) std::filesystem::rename(partial, path, error);
  if (!whole || !closed || error) {
    std::filesystem::remove(partial, error);
    fail(path.string() + ": cannot be written");
  }
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
