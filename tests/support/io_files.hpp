// SPDX-License-Identifier: MIT
// Files made by hand, right ones and wrong ones, for the tests of io.
#pragma once

#include <norma/io/safetensors.hpp>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "surface_helpers.hpp"

namespace io_test {

using norma::DataType;
using norma::FileTensor;
using norma::Index;
using norma::Safetensors;
using surface::error_of;
using Bytes = std::vector<std::byte>;

template <class V>
Bytes bytes_of(const std::vector<V>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

/// A file of this header and data; `length` stands in its first eight bytes.
inline Bytes file_of(std::string_view header, const Bytes& data, std::uint64_t length) {
  Bytes file(8);
  std::memcpy(file.data(), &length, 8);
  const auto text = std::as_bytes(std::span(header));
  file.insert(file.end(), text.begin(), text.end());
  file.insert(file.end(), data.begin(), data.end());
  return file;
}
inline Bytes file_of(std::string_view header, const Bytes& data = {}) { return file_of(header, data, header.size()); }
inline Bytes file_of(std::string_view header, std::size_t data) { return file_of(header, Bytes(data)); }

/// Whether reading this fails with a message that holds all of `parts`; the message otherwise.
template <class... Part>
testing::AssertionResult refused(const Bytes& file, const Part&... parts) {
  // A copy that ends where the file does, for the sanitizer to watch.
  const Bytes exact(file);
  const std::string message = error_of([&] { Safetensors::parse(exact); });
  if (message.empty()) return testing::AssertionFailure() << "was read";
  for (const std::string_view part : std::initializer_list<std::string_view>{parts...})
    if (message.find(part) == std::string::npos)
      return testing::AssertionFailure() << "\"" << message << "\" does not say \"" << part << "\"";
  return testing::AssertionSuccess();
}

/// A path in the tests' scratch directory, free again at the end.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name)
      : path_(std::filesystem::path(testing::TempDir()) / ("norma_" + std::to_string(::getpid()) + "_" + name)) {}
  ~ScratchFile() {
    std::error_code error;
    std::filesystem::remove(path_, error);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace io_test
