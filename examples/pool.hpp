// SPDX-License-Identifier: MIT
// A user's own threads for norma: a pool that lives as long as its owner likes. norma keeps none itself; it calls what
// an Executor points to.
#pragma once

#include <norma/core/executor.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
 public:
  using Task = void (*)(void* data, norma::Index i);

  /// The thread that calls works too, so `workers` - 1 are started.
  explicit Pool(int workers) {
    for (int i = 1; i < workers; ++i) threads_.emplace_back([this] { work(); });
  }
  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// For workspace(shape, executor). The pool must outlive the workspace.
  norma::Executor executor() {
    const auto run = [](void* pool, norma::Index count, Task task, void* data) {
      static_cast<Pool*>(pool)->run(count, task, data);
    };
    return {static_cast<norma::Index>(threads_.size()) + 1, run, this};
  }

  /// task(data, i) for every i in [0, count), on any threads; returns when all are done.
  void run(norma::Index count, Task task, void* data) {
    const std::lock_guard one_at_a_time(runs_);
    std::unique_lock lock(mutex_);
    task_ = task;
    data_ = data;
    next_ = 0;
    count_ = left_ = count;
    wake_.notify_all();
    take(lock);
    done_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stop_ || next_ < count_; });
      if (stop_) return;
      take(lock);
    }
  }
  /// Runs tasks as long as there is one that nobody has begun.
  void take(std::unique_lock<std::mutex>& lock) {
    while (next_ < count_) {
      const norma::Index i = next_++;
      lock.unlock();
      task_(data_, i);  // neither changes before left_ is 0
      lock.lock();
      if (--left_ == 0) done_.notify_all();
    }
  }

  std::mutex runs_, mutex_;
  std::condition_variable wake_, done_;
  Task task_ = nullptr;
  void* data_ = nullptr;
  norma::Index next_ = 0, count_ = 0, left_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};
