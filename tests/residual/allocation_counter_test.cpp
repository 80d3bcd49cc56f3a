// SPDX-License-Identifier: MIT
// The one file of this program that replaces malloc.
#define NORMA_DEFINE_ALLOCATION_COUNTER
#include <norma/testing/allocation_counter.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>

namespace {

TEST(AllocationCounter, CountsNewAndMalloc) {
  if (!norma::testing::kCountsAllocations) GTEST_SKIP() << "a sanitizer owns malloc";
  const norma::testing::AllocationCounter counter;
  std::free(std::malloc(3));
  EXPECT_EQ(counter.count(), 1);
  const std::unique_ptr<int[]> array(new int[100]);
  EXPECT_EQ(counter.count(), 2) << array[0];
}

}  // namespace
