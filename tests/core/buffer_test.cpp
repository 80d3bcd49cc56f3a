// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <norma/core/buffer.hpp>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

namespace {

using norma::Buffer;
using norma::Index;

bool aligned(const Buffer& b) { return reinterpret_cast<std::uintptr_t>(b.data()) % norma::kAlignment == 0; }

TEST(Buffer, IsAlignedAndZero) {
  for (Index bytes : {1, 63, 64, 65, 1000, 4096}) {
    {
      Buffer dirty(bytes);  // what the heap gives back next is not zero by itself
      std::fill_n(dirty.data(), bytes, std::byte{0xAB});
    }
    Buffer b(bytes);
    EXPECT_EQ(b.bytes(), bytes);
    EXPECT_TRUE(aligned(b));
    EXPECT_TRUE(std::all_of(b.data(), b.data() + bytes, [](std::byte v) { return v == std::byte{0}; })) << bytes;
  }
}

TEST(Buffer, EmptyHasNoMemory) {
  const Buffer a, b(0);
  EXPECT_EQ(a.data(), nullptr);
  EXPECT_EQ(b.data(), nullptr);
  const Buffer copy = b;
  EXPECT_EQ(copy.bytes(), 0);
}

TEST(Buffer, CopiesAreDeep) {
  Buffer a(100);
  a.data()[99] = std::byte{7};
  Buffer b = a;
  EXPECT_NE(a.data(), b.data());
  EXPECT_TRUE(aligned(b));
  EXPECT_EQ(b.bytes(), 100);
  EXPECT_EQ(b.data()[99], std::byte{7});
  a.data()[99] = std::byte{8};
  EXPECT_EQ(b.data()[99], std::byte{7});
  Buffer c(5);
  c = a;
  EXPECT_EQ(c.bytes(), 100);
  EXPECT_EQ(c.data()[99], std::byte{8});
  EXPECT_NE(c.data(), a.data());
  const Buffer& self = c;
  c = self;
  EXPECT_EQ(c.data()[99], std::byte{8});
}

TEST(Buffer, MovesHandOver) {
  static_assert(std::is_nothrow_move_constructible_v<Buffer>);
  Buffer a(64);
  const std::byte* p = a.data();
  Buffer b = std::move(a);
  EXPECT_EQ(b.data(), p);
  EXPECT_EQ(a.data(), nullptr);  // NOLINT(bugprone-use-after-move): an empty buffer is the documented rest
  EXPECT_EQ(a.bytes(), 0);
  Buffer c(128);
  c = std::move(b);
  EXPECT_EQ(c.data(), p);
  EXPECT_EQ(c.bytes(), 64);
}

}  // namespace
