// SPDX-License-Identifier: MIT
// Memory aligned to a cache line. The only place where norma allocates for data, a file's bytes aside.
#pragma once

#include <norma/core/shape.hpp>

#include <cstring>
#include <new>
#include <utility>

namespace norma::inline v0_1::inline NORMA_TARGET {

inline constexpr Index kAlignment = 64;  // a cache line, and the widest vector register

/// `bytes` zeroed bytes on a cache line. Copies are deep.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(Index bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    data_ = static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), std::align_val_t(kAlignment)));
    std::memset(data_, 0, static_cast<std::size_t>(bytes));
  }
  Buffer(const Buffer& other) : Buffer(other.bytes_) {
    if (bytes_ != 0) std::memcpy(data_, other.data_, static_cast<std::size_t>(bytes_));
  }
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Buffer() { ::operator delete(data_, std::align_val_t(kAlignment)); }

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  Index bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  Index bytes_ = 0;
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
