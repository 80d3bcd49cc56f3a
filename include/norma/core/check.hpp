// SPDX-License-Identifier: MIT
// How norma reports a bad call: one exception type at the public surface, assertions below it.
#pragma once

#include <norma/config.hpp>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

/// Internal promises. Off when NDEBUG is defined, unless NORMA_ENABLE_ASSERT is.
#if defined(NDEBUG) && !defined(NORMA_ENABLE_ASSERT)
#define NORMA_ASSERT(condition, why) static_cast<void>(0)
#else
#define NORMA_ASSERT(condition, why) \
  ((condition) ? static_cast<void>(0) : ::norma::assertion_failed(#condition, why, __FILE__, __LINE__))
#endif

namespace norma::inline v0_1 {

/// A bad call: a wrong shape, a workspace that does not fit, backward without forward. Thrown before anything is
/// written. The message names the tensor, the wanted and the given shape.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Called with the message where exceptions are off. Replaceable; must not return.
using ErrorHandler = void (*)(const char* message);
inline ErrorHandler error_handler = [](const char* message) {
  std::fprintf(stderr, "norma: %s\n", message);
  std::abort();
};

[[noreturn]] NORMA_COLD inline void assertion_failed(const char* condition, const char* why, const char* file,
                                                     int line) {
  std::fprintf(stderr, "%s:%d: norma: %s (%s)\n", file, line, why, condition);
  std::abort();
}

}  // namespace norma::inline v0_1

namespace norma::inline v0_1::inline NORMA_TARGET {

/// An Error, or the error_handler where exceptions are off.
[[noreturn]] NORMA_COLD inline void fail(const std::string& message) {
#if defined(__cpp_exceptions)
  throw Error(message);
#else
  error_handler(message.c_str());
  std::abort();
#endif
}

}  // namespace norma::inline v0_1::inline NORMA_TARGET
