// SPDX-License-Identifier: MIT
// Mutations of a right file are read or refused with norma::Error; under the sanitizers nothing else happens either.
#include "io_files.hpp"

namespace {

using namespace io_test;

/// What survives is consistent: tensors lie in the file one after another, and can be read.
void expect_consistent(const Bytes& bytes) {
  const auto file = Safetensors::parse(bytes);
  std::size_t size = 0;
  for (const FileTensor& tensor : file.tensors()) {
    size += tensor.data.size();
    for (const std::byte& b : tensor.data) ASSERT_TRUE(&b >= bytes.data() && &b < bytes.data() + bytes.size());
    error_of([&] { norma::values<float>(tensor); });
    error_of([&] { norma::values<double>(tensor); });
  }
  ASSERT_LE(size + 8, bytes.size());
}

TEST(SafetensorsFuzz, Mutations) {
  const std::vector<float> floats(6, 0.5f);
  const std::vector<double> doubles(3, -1.0);
  const Bytes right =
      norma::safetensors_bytes({{"layers.0.weight", DataType::f32, {2, 3}, std::as_bytes(std::span(floats))},
                                {"bias", DataType::f64, {3}, std::as_bytes(std::span(doubles))},
                                {"none", DataType::bf16, {0, 4}, {}}},
                               {{"format", "pt"}});
  const std::string_view pieces[] = {
      "{",          "}",   "[",       "]",    ",", ":", "\"", "0", "9", "-", "1e9", "null", "18446744073709551615",
      "\"dtype\":", "F64", "\\u0000", "\xC3", " "};
  const norma::Rng rng = norma::Rng(3).stream("fuzz");
  std::uint64_t draws = 0;
  const auto draw = [&](std::size_t below) {
    return static_cast<std::size_t>(rng.uniform(draws++) * static_cast<double>(below));
  };
  int read = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    Bytes bytes = right;
    for (std::size_t edits = 1 + draw(3); edits > 0 && bytes.size() > 8; --edits) {
      const auto at = static_cast<std::ptrdiff_t>(draw(bytes.size()));
      const std::size_t before = bytes.size();
      switch (draw(4)) {
        case 0:  // a bit
          bytes[static_cast<std::size_t>(at)] ^= std::byte(1u << draw(8));
          break;
        case 1:  // some bytes fewer
          bytes.erase(bytes.begin() + at, bytes.begin() + std::min<std::ptrdiff_t>(at + 4, std::ssize(bytes)));
          break;
        default: {  // a piece more
          const auto piece = std::as_bytes(std::span(pieces[draw(std::size(pieces))]));
          bytes.insert(bytes.begin() + at, piece.begin(), piece.end());
        }
      }
      // Mostly with a length that follows, so that the mutation reaches the parser.
      if (draw(8) != 0 && bytes.size() > 8) {
        std::uint64_t length = 0;
        std::memcpy(&length, bytes.data(), 8);
        length += bytes.size() - before;
        std::memcpy(bytes.data(), &length, 8);
      }
    }
    bytes.shrink_to_fit();
    const std::string message = error_of([&] { expect_consistent(bytes); });
    ++(message.empty() ? read : refused);
  }
  EXPECT_GT(read, 100) << "mutations of the data alone";
  EXPECT_GT(refused, 10000);
}

TEST(SafetensorsFuzz, EveryLengthAndEveryPrefix) {
  const std::vector<float> floats(2, 1.0f);
  const Bytes right = norma::safetensors_bytes({{"a", DataType::f32, {2}, std::as_bytes(std::span(floats))}});
  for (std::size_t size = 0; size < right.size(); ++size)
    EXPECT_TRUE(refused(Bytes(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(size)))) << size;
  for (std::uint64_t length = 0; length < 300; ++length) {
    Bytes bytes = right;
    std::uint64_t was = 0;
    std::memcpy(&was, bytes.data(), 8);
    if (length == was) continue;
    std::memcpy(bytes.data(), &length, 8);
    EXPECT_TRUE(refused(bytes)) << length;
  }
}

}  // namespace
