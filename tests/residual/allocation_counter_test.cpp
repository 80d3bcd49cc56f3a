// SPDX-License-Identifier: MIT
// The one file of this program that replaces malloc.
#define NORMA_DEFINE_ALLOCATION_COUNTER
#include <norma/testing/allocation_counter.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace {

TEST(AllocationCounter, CountsNewAndMalloc) {
  if (!norma::testing::kCountsAllocations) GTEST_SKIP() << "a sanitizer owns malloc";
  const norma::testing::AllocationCounter counter;
  void* volatile kept = std::malloc(3);  // volatile, or the compiler leaves both out
  std::free(kept);
  EXPECT_EQ(counter.count(), 1);
  kept = ::operator new(100);
  ::operator delete(kept);
  EXPECT_EQ(counter.count(), 2);
}

}  // namespace
