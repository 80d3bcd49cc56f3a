// SPDX-License-Identifier: MIT
// The counter counts every way to get memory, on any thread, and nothing else.
#define NORMA_DEFINE_ALLOCATION_COUNTER
#include <Eigen/Core>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <norma/core/buffer.hpp>
#include <norma/testing/allocation_counter.hpp>
#include <string>
#include <thread>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <gtest/gtest.h>

namespace {

using norma::testing::AllocationCounter;

/// Keeps a pointer from being optimised away with its allocation.
void use(const void* p) { asm volatile("" : : "r"(p) : "memory"); }

class AllocationCounting : public testing::Test {
 protected:
  void SetUp() override {
    if (!norma::testing::kCountsAllocations) GTEST_SKIP() << "a sanitizer or another C library owns malloc";
  }
};

template <class F>
long count(F&& f) {
  const AllocationCounter counter;
  f();
  return counter.count();
}

TEST_F(AllocationCounting, NothingIsZero) {
  EXPECT_EQ(count([] {}), 0);
  std::vector<float> v(100, 1);
  EXPECT_EQ(count([&] {
              for (float& x : v) x *= 2;
              use(v.data());
              const float here[100] = {};
              use(here);
            }),
            0);
}

TEST_F(AllocationCounting, OperatorNew) {
  EXPECT_EQ(count([] {
              auto p = std::make_unique<int>(1);
              use(p.get());
            }),
            1);
  EXPECT_EQ(count([] {
              std::unique_ptr<int[]> p(new int[100]);
              use(p.get());
            }),
            1);
  struct alignas(128) Wide {
    char bytes[128];
  };
  EXPECT_EQ(count([] {
              auto p = std::make_unique<Wide>();
              use(p.get());
            }),
            1);
  EXPECT_EQ(count([] {
              int* p = new (std::nothrow) int;
              use(p);
              delete p;
            }),
            1);
}

TEST_F(AllocationCounting, TheCLibrary) {
  const auto one = [](auto&& get) {
    return count([&] {
      void* p = get();
      use(p);
      std::free(p);
    });
  };
  EXPECT_EQ(one([] { return std::malloc(10); }), 1);
  EXPECT_EQ(one([] { return std::calloc(10, 10); }), 1);
  EXPECT_EQ(one([] { return std::realloc(nullptr, 10); }), 1);
  EXPECT_EQ(one([] { return std::aligned_alloc(64, 128); }), 1);
  EXPECT_EQ(one([] {
              void* p = nullptr;
              EXPECT_EQ(posix_memalign(&p, 64, 100), 0);
              EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 64, 0u);
              return p;
            }),
            1);
#if defined(__GLIBC__)
  EXPECT_EQ(one([] { return memalign(64, 100); }), 1);
#endif
  EXPECT_EQ(one([] { return strdup("inside the C library"); }), 1);
  // Growing counts, and keeps what was there.
  EXPECT_EQ(one([] {
              void* p = std::malloc(10);
              std::memcpy(p, "123456789", 10);
              p = std::realloc(p, 100000);
              EXPECT_STREQ(static_cast<char*>(p), "123456789");
              return p;
            }),
            2);
  EXPECT_EQ(one([] {
              void* p = std::calloc(1000, 1);
              for (int i = 0; i < 1000; ++i) EXPECT_EQ(static_cast<char*>(p)[i], 0);
              return p;
            }),
            1);
}

TEST_F(AllocationCounting, EigenAndNorma) {
  EXPECT_EQ(count([] {
              Eigen::MatrixXf m(10, 10);
              use(m.data());
            }),
            1);
  // A temporary that an expression makes, and Eigen's packing buffers: the reason for a product of our own.
  Eigen::MatrixXf a = Eigen::MatrixXf::Random(200, 200), b = a, c = a;
  EXPECT_GE(count([&] {
              c.noalias() = a * b;
              use(c.data());
            }),
            1);
  EXPECT_EQ(count([] {
              const norma::Buffer buffer(100);
              use(buffer.data());
            }),
            1);
}

TEST_F(AllocationCounting, OtherThreads) {
  const AllocationCounter counter;
  long before = 0, after = 0;
  std::thread thread([&] {
    before = counter.count();
    void* p = std::malloc(10);
    use(p);
    std::free(p);
    after = counter.count();
  });
  thread.join();
  EXPECT_EQ(after - before, 1);
  EXPECT_GE(counter.count(), after);
}

}  // namespace
