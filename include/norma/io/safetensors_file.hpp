// SPDX-License-Identifier: MIT
// A file in the safetensors format, read and checked: eight bytes, the length of the header in little-endian order; the
// header, see safetensors_header.hpp; and the data, every byte of which belongs to one tensor.
#pragma once

#include <norma/core/buffer.hpp>
#include <norma/core/tensor.hpp>
#include <norma/io/safetensors_header.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace norma::inline v0_1::inline NORMA_TARGET {

static_assert(std::endian::native == std::endian::little, "norma: safetensors files are little-endian");

/// A tensor as a file holds it: row-major, little-endian, aligned to nothing. The bytes are someone else's.
struct FileTensor {
  std::string name;
  DataType type;
  std::vector<Index> shape;
  std::span<const std::byte> data;

  Index size() const { return static_cast<Index>(data.size()) * 8 / info(type).bits; }
};

/// A file, read and checked. Copies share its memory.
class Safetensors {
 public:
  /// Longer headers are refused, as the format's own reader does.
  static constexpr std::uint64_t kLargestHeader = 100'000'000;

  /// \throws Error where there is no such regular file, it cannot be read, or what it holds is not the format.
  static Safetensors read(const std::filesystem::path& path);
  /// Of bytes in memory, which stay the caller's and must outlive what is read here. \throws Error as read does.
  static Safetensors parse(std::span<const std::byte> bytes, const std::string& source = "safetensors") {
    return Safetensors(bytes, source);
  }

  /// In the order of their data.
  const std::vector<FileTensor>& tensors() const { return tensors_; }
  const Metadata& metadata() const { return metadata_; }
  /// Where the file came from, for messages.
  const std::string& source() const { return source_; }

  /// Null if there is none of this name.
  const FileTensor* find(std::string_view name) const {
    const auto at = std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& t) { return t.name == name; });
    return at == tensors_.end() ? nullptr : &*at;
  }
  /// \throws Error if there is none of this name.
  const FileTensor& operator[](std::string_view name) const {
    const FileTensor* const tensor = find(name);
    if (tensor == nullptr) fail(source_ + ": no tensor is called \"" + std::string(name) + "\"");
    return *tensor;
  }

 private:
  Safetensors(std::span<const std::byte> bytes, const std::string& source) : source_(source) {
    std::uint64_t header = 0;
    if (bytes.size() < sizeof header)
      refuse("holds " + std::to_string(bytes.size()) + " bytes, wanted at least " + std::to_string(sizeof header));
    std::memcpy(&header, bytes.data(), sizeof header);
    bytes = bytes.subspan(sizeof header);
    if (header > bytes.size() || header > kLargestHeader)
      refuse("its header is said to be " + std::to_string(header) + " bytes long, of " + std::to_string(bytes.size()));
    const auto length = static_cast<std::size_t>(header);
    read_header({reinterpret_cast<const char*>(bytes.data()), length}, bytes.subspan(length));
  }

  void read_header(std::string_view text, std::span<const std::byte> data) {
    if (text.empty() || text.front() != '{') refuse("its header does not start with {");
    // To the parser that would be the end, and what follows none of its business.
    if (text.find('\0') != text.npos) refuse("its header holds a byte of zero");
    detail::HeaderReader reader;
    if (!nlohmann::json::sax_parse(text.begin(), text.end(), &reader)) refuse(reader.problem);
    metadata_ = std::move(reader.metadata);

    auto& entries = reader.entries;
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
      return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    std::uint64_t end = 0;
    for (auto& entry : entries) {
      check_range(entry, data.size());
      if (entry.begin != end)
        refuse(entry, "starts at byte " + std::to_string(entry.begin) + " of the data, wanted " + std::to_string(end) +
                          (entry.begin < end ? ": it overlaps the tensor before it" : ": a hole lies before it"));
      end = entry.end;
      tensors_.push_back(
          {std::move(entry.name), entry.type, std::move(entry.shape),
           data.subspan(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(entry.end - entry.begin))});
    }
    if (end != data.size())
      refuse("holds " + std::to_string(data.size()) + " bytes of data, of which tensors take " + std::to_string(end) +
             (tensors_.empty() ? "" : "; the last is \"" + tensors_.back().name + "\""));
  }
  /// The range lies in the data and is as long as type and shape say.
  void check_range(const detail::HeaderEntry& entry, std::size_t available) const {
    const std::string range = "[" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + "]";
    if (entry.begin > entry.end || entry.end > available)
      refuse(entry, "has data_offsets " + range + " in " + std::to_string(available) + " bytes of data");
    std::uint64_t bits = static_cast<std::uint64_t>(info(entry.type).bits);
    for (const Index size : entry.shape)
      if (__builtin_mul_overflow(bits, static_cast<std::uint64_t>(size), &bits)) refuse(entry, "has too large a shape");
    if (bits % 8 != 0 || bits / 8 != entry.end - entry.begin)
      refuse(entry, "of shape " + shape_text(entry.shape) + " and dtype " + std::string(info(entry.type).name) +
                        " takes " + std::to_string(bits) + " bits, its data_offsets are " + range);
  }
  [[noreturn]] void refuse(const std::string& problem) const { fail(source_ + ": " + problem); }
  [[noreturn]] void refuse(const detail::HeaderEntry& entry, const std::string& problem) const {
    refuse("tensor \"" + entry.name + "\" " + problem);
  }

  std::string source_;
  std::shared_ptr<const Buffer> memory_;  // of a file that was read here
  std::vector<FileTensor> tensors_;
  Metadata metadata_;
};

inline Safetensors Safetensors::read(const std::filesystem::path& path) {
  std::error_code error;
  const bool regular = std::filesystem::is_regular_file(path, error);
  const auto size = regular ? std::filesystem::file_size(path, error) : 0;
  std::ifstream file(path, std::ios::binary);
  if (!regular || error || !file) fail(path.string() + ": no file to read");
  auto memory = std::make_shared<Buffer>(static_cast<Index>(size));
  file.read(reinterpret_cast<char*>(memory->data()), static_cast<std::streamsize>(size));
  if (!file) fail(path.string() + ": cannot be read");
  Safetensors result({memory->data(), static_cast<std::size_t>(size)}, path.string());
  result.memory_ = std::move(memory);
  return result;
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
