// SPDX-License-Identifier: MIT
// Checks for programs that are built without exceptions or with -ffast-math, and so without GoogleTest.
#pragma once

#include <cstdio>

namespace plain {

inline int failures = 0;

inline bool check(bool good, const char* text, const char* file, int line) {
  if (!good) {
    ++failures;
    std::printf("%s:%d: failed: %s\n", file, line, text);
  }
  return good;
}
/// The program's exit status.
inline int report(const char* name) {
  std::printf("%s: %d failures\n", name, failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace plain

#define CHECK(...) ::plain::check((__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
