// SPDX-License-Identifier: MIT
// A line on standard error, once a job has taken more than a second.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

class Progress {
 public:
  ~Progress() { clear(); }
  void show(const std::string& what, double fraction) {
    const auto now = Clock::now();
    // A terminal is refreshed often; a log gets a line now and then.
    const double pause = terminal_ ? 0.2 : 5;
    if (seconds(now - start_) < 1 || (shown_ && seconds(now - last_) < pause)) return;
    std::fprintf(stderr, terminal_ ? "\r\033[K%s %3.0f %%" : "%s %3.0f %%\n", what.c_str(), 100 * fraction);
    std::fflush(stderr);
    last_ = now;
    shown_ = true;
  }
  void clear() {
    if (shown_ && terminal_) std::fprintf(stderr, "\r\033[K");
    shown_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

  Clock::time_point start_ = Clock::now(), last_{};
  bool shown_ = false, terminal_ = isatty(STDERR_FILENO) != 0;
};
