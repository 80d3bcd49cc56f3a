// SPDX-License-Identifier: MIT
// Counts allocations at the level of malloc, so that nothing can hide: operator new, Eigen, the C library.
//
// Include in ONE translation unit of a test program with NORMA_DEFINE_ALLOCATION_COUNTER defined before, elsewhere
// without. Needs the GNU C library; under a sanitizer, which owns malloc, or another C library, available is false and
// nothing counts.
#pragma once

#include <norma/config.hpp>

#include <atomic>
#include <cstddef>
#if defined(__SSE__)
#include <mm_malloc.h>  // part of Clang's intrinsics; it declares posix_memalign, and must do so before this file does
#endif

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer) && !__has_feature(memory_sanitizer)
#define NORMA_COUNTS_ALLOCATIONS 1
#endif
#else
#define NORMA_COUNTS_ALLOCATIONS 1
#endif
#endif

namespace norma::inline v0_1::inline NORMA_TARGET::testing {

#if defined(NORMA_COUNTS_ALLOCATIONS)
inline constexpr bool kCountsAllocations = true;
#else
inline constexpr bool kCountsAllocations = false;
#endif

inline std::atomic<long> allocations{0};

/// Allocations since it was made, by any thread.
class AllocationCounter {
 public:
  AllocationCounter() : start_(allocations.load()) {}
  long count() const { return allocations.load() - start_; }

 private:
  long start_;
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::testing

#if defined(NORMA_DEFINE_ALLOCATION_COUNTER) && defined(NORMA_COUNTS_ALLOCATIONS)
// The definitions in the program come before the C library's; these names are the library's own entries.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) noexcept {
  ++norma::testing::allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  ++norma::testing::allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* p, std::size_t size) noexcept {
  ++norma::testing::allocations;
  return __libc_realloc(p, size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  ++norma::testing::allocations;
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  ++norma::testing::allocations;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** p, std::size_t alignment, std::size_t size) noexcept {
  ++norma::testing::allocations;
  *p = __libc_memalign(alignment, size);
  return *p == nullptr ? 12 : 0;  // ENOMEM
}
}
#endif
