// SPDX-License-Identifier: MIT
// Two units that include everything, linked together (L01): the same blocks in both, and one of its own in each; built
// alike, or for two instruction sets. Every unit computes with its own kernels, and plain values mean the same in both.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "shared.hpp"

namespace {

int failures = 0;
void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "odr: %s\n", what);
  ++failures;
}
bool close(const Outcome& a, const Outcome& b) {
  const auto near = [](double p, double q) { return std::fabs(p - q) <= 1e-4 * (1 + std::fabs(p)); };
  return std::isfinite(a.y) && near(a.y, b.y) && near(a.dx, b.dx) && near(a.gradients, b.gradients);
}

}  // namespace

int main() {
#if defined(ODR_SECOND_NEEDS_AVX2) && defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 77;
#endif
  const Second second = second_unit();
  const Outcome shared = run_block<Shared>(), only_first = run_block<OnlyFirst>(),
                only_second = run_block<OnlySecond>();
  const bool alike = std::strcmp(second.level, TEXT(NORMA_TARGET)) == 0;
  std::printf("first %s, second %s\n", TEXT(NORMA_TARGET), second.level);
  expect(close(shared, second.shared), "the block of both units differs");
  expect(close(only_first, second.only_first), "the first unit's block differs");
  expect(close(only_second, second.only_second), "the second unit's block differs");
  if (alike) expect(shared == second.shared, "built alike, but not to the last bit");
    // Fused and plain multiply-adds round differently: equal bits would mean that one unit ran the other's kernels.
#if defined(ODR_SECOND_NEEDS_AVX2)
  expect(!alike, "both units are built for one level");
  expect(!(shared == second.shared) && !(only_first == second.only_first), "one unit ran the other's kernels");
#endif
  expect(second.error_handler == &norma::error_handler, "two error handlers");
  expect(second.version == &norma::version, "two version constants");
#if defined(ODR_SECOND_HAS_NO_EXCEPTIONS)
  bool threw = false;
  try {
    norma::fail("from the first unit");
  } catch (const norma::Error&) {
    threw = true;
  }
  expect(threw, "the first unit does not throw");
  norma::error_handler = [](const char* message) {
    expect(std::strcmp(message, "from the second unit") == 0, message);
    std::exit(failures == 0 ? 0 : 1);
  };
#endif
  [[maybe_unused]] bool caught = false;
  try {
    second_unit_fails();
  } catch (const norma::Error& e) {
    caught = std::strcmp(e.what(), "from the second unit") == 0;
  }
#if defined(ODR_SECOND_HAS_NO_EXCEPTIONS)
  expect(false, "the second unit does not call the handler");
#else
  expect(caught, "an Error of the second unit is not the first one's");
#endif
  return failures == 0 ? 0 : 1;
}
