// SPDX-License-Identifier: MIT
// A file in the safetensors format, read and checked: eight bytes, the length of the header in little-endian order; the
// header, see safetensors_header.hpp; and the data, every byte of which belongs to one tensor.
#pragma once

#include <norma/core/tensor.hpp>
#include <norma/io/safetensors_header.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace norma::inline v0_1::inline NORMA_TARGET {

static_assert(std::endian::native == std::endian::little, "norma: safetensors files are little-endian");

/// A tensor as a file holds it: row-major, little-endian, aligned to nothing.
struct FileTensor {
  std::string name;
  DataType type;
  std::vector<Index> shape;
  std::span<const std::byte> data;
  std::shared_ptr<const std::byte[]> memory{};  ///< that `data` lies in; null: the bytes are someone else's

  Index size() const { return static_cast<Index>(data.size()) * 8 / info(type).bits; }
};

/// A file, or several as one, read and checked. Copies, and their tensors, share its memory.
class Safetensors {
 public:
  /// Longer headers are refused, as the format's own reader does.
  static constexpr std::uint64_t kLargestHeader = 100'000'000;

  /// \throws Error where there is no such regular file, it cannot be read, or what it holds is not the format.
  /// Memory is taken for the data once the header is found right, and fits the file's size.
  static Safetensors read(const std::filesystem::path& path);
  /// Of bytes in memory, which stay the caller's and must outlive what is read here. \throws Error as read does.
  static Safetensors parse(std::span<const std::byte> bytes, const std::string& source = "safetensors") {
    Safetensors file(source);
    const std::size_t length = file.header_length(bytes.first((std::min)(bytes.size(), kStart)), bytes.size());
    const auto data = bytes.subspan(kStart + length);
    file.take(file.read_header(bytes.subspan(kStart, length), data.size()), data, nullptr);
    return file;
  }

  /// The tensors of several files as those of one, which messages call `source`; so is the metadata, and of a key that
  /// several have, the first. \throws Error for a tensor that stands in two of them.
  static Safetensors join(std::span<const Safetensors> files, const std::string& source);

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
    if (tensor == nullptr) fail(source_ + ": no tensor is called " + detail::in_quotes(name));
    return *tensor;
  }

 private:
  static constexpr std::size_t kStart = sizeof(std::uint64_t);  // bytes in front of the header

  explicit Safetensors(const std::string& source) : source_(source) {}

  /// What the first bytes of a file of this size say.
  std::size_t header_length(std::span<const std::byte> start, std::uint64_t size) const {
    if (start.size() < kStart)
      refuse("is no safetensors file: it holds " + std::to_string(size) + " bytes, wanted at least " +
             std::to_string(kStart));
    std::uint64_t length = 0;
    std::memcpy(&length, start.data(), kStart);
    if (length > size - kStart || length > kLargestHeader)
      refuse("is no safetensors file: its header is said to be " + std::to_string(length) + " bytes long, of " +
             std::to_string(size - kStart));
    return static_cast<std::size_t>(length);
  }

  /// The tensors in the order of their data, which are so many bytes and belong to one tensor each.
  std::vector<detail::HeaderEntry> read_header(std::span<const std::byte> header, std::uint64_t available) {
    const std::string_view text(reinterpret_cast<const char*>(header.data()), header.size());
    if (text.empty() || text.front() != '{') refuse("is no safetensors file: its header does not start with {");
    // To the parser that would be the end, and what follows none of its business.
    if (text.find('\0') != text.npos) refuse("its header holds a byte of zero");
    detail::HeaderReader reader;
    if (!nlohmann::json::sax_parse(text.begin(), text.end(), &reader)) refuse(reader.problem);
    metadata_ = std::move(reader.metadata);

    auto entries = std::move(reader.entries);
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
      return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    std::uint64_t end = 0;
    for (const auto& entry : entries) {
      check_range(entry, available);
      if (entry.begin != end)
        refuse(entry, "starts at byte " + std::to_string(entry.begin) + " of the data, wanted " + std::to_string(end) +
                          (entry.begin < end ? ": it overlaps the tensor before it" : ": a hole lies before it"));
      end = entry.end;
    }
    if (end != available)
      refuse("holds " + std::to_string(available) + " bytes of data, of which tensors take " + std::to_string(end) +
             (entries.empty() ? "" : "; the last is " + detail::in_quotes(entries.back().name)));
    return entries;
  }
  /// Sets the tensors to these, whose ranges are those of this data.
  void take(std::vector<detail::HeaderEntry> entries, std::span<const std::byte> data,
            const std::shared_ptr<const std::byte[]>& memory) {
    for (auto& entry : entries)
      tensors_.push_back(
          {std::move(entry.name), entry.type, std::move(entry.shape),
           data.subspan(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(entry.end - entry.begin)),
           memory});
  }
  /// The range lies in the data and is as long as type and shape say.
  void check_range(const detail::HeaderEntry& entry, std::uint64_t available) const {
    const std::string range = "[" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + "]";
    if (entry.begin > entry.end || entry.end > available)
      refuse(entry, "has data_offsets " + range + " in " + std::to_string(available) + " bytes of data");
    std::uint64_t bits = static_cast<std::uint64_t>(info(entry.type).bits);
    for (const Index size : entry.shape)
      if (__builtin_mul_overflow(bits, static_cast<std::uint64_t>(size), &bits)) refuse(entry, "has too large a shape");
    if (bits % 8 != 0 || bits / 8 != entry.end - entry.begin)
      refuse(entry, "of shape " + detail::excerpt(shape_text(entry.shape)) + " and dtype " +
                        std::string(info(entry.type).name) + " takes " + std::to_string(bits) +
                        " bits, its data_offsets are " + range);
  }
  [[noreturn]] void refuse(const std::string& problem) const { fail(source_ + ": " + problem); }
  [[noreturn]] void refuse(const detail::HeaderEntry& entry, const std::string& problem) const {
    refuse("tensor " + detail::in_quotes(entry.name) + " " + problem);
  }

  std::string source_;
  std::vector<FileTensor> tensors_;
  Metadata metadata_;
};

inline Safetensors Safetensors::read(const std::filesystem::path& path) {
  std::error_code error;
  const bool regular = std::filesystem::is_regular_file(path, error);
  const std::uint64_t size = regular ? std::filesystem::file_size(path, error) : 0;
  std::ifstream file(path, std::ios::binary);
  if (!regular || error || !file) fail(path.string() + ": no file to read");
  // The file's next bytes, in memory that nothing clears first.
  const auto next = [&](std::uint64_t bytes) {
    std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[static_cast<std::size_t>(bytes)]);
    if (memory == nullptr) fail(path.string() + ": there is no memory for its " + std::to_string(bytes) + " bytes");
    if (!file.read(reinterpret_cast<char*>(memory.get()), static_cast<std::streamsize>(bytes)))
      fail(path.string() + ": cannot be read");
    return memory;
  };
  Safetensors result(path.string());
  const std::size_t first = size < kStart ? static_cast<std::size_t>(size) : kStart;
  const std::size_t length = result.header_length({next(first).get(), first}, size);
  const std::uint64_t data = size - kStart - length;
  auto entries = result.read_header({next(length).get(), length}, data);
  const std::shared_ptr<const std::byte[]> memory = next(data);
  result.take(std::move(entries), {memory.get(), static_cast<std::size_t>(data)}, memory);
  return result;
}

inline Safetensors Safetensors::join(std::span<const Safetensors> files, const std::string& source) {
  Safetensors result(source);
  std::unordered_map<std::string_view, const Safetensors*> homes;
  for (const Safetensors& file : files) {
    for (const FileTensor& tensor : file.tensors_) {
      const auto [home, is_new] = homes.emplace(tensor.name, &file);
      if (!is_new)
        result.refuse("tensor " + detail::in_quotes(tensor.name) + " stands in " + home->second->source_ + " and in " +
                      file.source_);
      result.tensors_.push_back(tensor);
    }
    result.metadata_.insert(file.metadata_.begin(), file.metadata_.end());
  }
  return result;
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
