// SPDX-License-Identifier: MIT
// An array that ends where a page without access begins: one element too far is a crash, with or without a sanitizer.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "kernel_memory.hpp"

namespace norma_test {

template <class T>
class BeforeGuardPage {
 public:
  explicit BeforeGuardPage(Index count) : count_(count) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T), usable = (bytes + page - 1) / page * page;
    size_ = usable + page;
    base_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED) throw std::runtime_error("mmap");
    auto* const end = static_cast<std::byte*>(base_) + usable;
    if (mprotect(end, page, PROT_NONE) != 0) throw std::runtime_error("mprotect");
    data_ = reinterpret_cast<T*>(end) - count;
  }
  ~BeforeGuardPage() { munmap(base_, size_); }
  BeforeGuardPage(const BeforeGuardPage&) = delete;
  BeforeGuardPage& operator=(const BeforeGuardPage&) = delete;

  T* data() { return data_; }
  T& operator[](Index i) { return data_[i]; }
  template <class F>
  BeforeGuardPage& fill(F&& f) {
    for (Index i = 0; i < count_; ++i) data_[i] = static_cast<T>(f(i));
    return *this;
  }

 private:
  void* base_;
  std::size_t size_;
  T* data_;
  Index count_;
};

}  // namespace norma_test
