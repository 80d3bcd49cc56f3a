// SPDX-License-Identifier: MIT
// norma, and `unfused`: a residual as norma's own addition and norma's own norm, one after the other.
#include <norma/config.hpp>

#include "norma_calls.hpp"

namespace norm_benchmark {
namespace {

template <Center C, class T>
Call norma_call(const Operation& operation, const Buffers<T>& b) {
  const auto scratch = std::make_shared<NormaScratch<T>>(b.extent);
  if (operation.residual) {
    if (operation.forward())
      return
          [b, scratch, stored = operation.pass == Pass::forward] { norma_residual_forward<C, T>(b, stored, *scratch); };
    norma_forward<C, T>(b, b.input, *scratch);
    return [b, scratch] { norma_residual_backward<C, T>(b, *scratch); };
  }
  if (operation.forward()) return [b, scratch] { norma_forward<C, T>(b, b.x, *scratch); };
  norma_forward<C, T>(b, b.input, *scratch);
  return [b, scratch] { norma_backward<C, T>(b, *scratch); };
}

template <Center C, class T>
Call unfused_call(const Operation& operation, const Buffers<T>& b) {
  const auto scratch = std::make_shared<NormaScratch<T>>(b.extent);
  // The sum is stored whether it is wanted or not: there is nowhere else for it.
  if (operation.forward())
    return [b, scratch] {
      norma_add(b, b.x, b.w, b.s);
      norma_forward<C, T>(b, b.s, *scratch);
    };
  norma_forward<C, T>(b, b.input, *scratch);
  return [b, scratch] {
    norma_backward<C, T>(b, *scratch);
    norma_add<T>(b, b.dx, b.ds, b.dx);
  };
}

template <class T>
Call norma(const Operation& operation, const Buffers<T>& b) {
  return operation.rms ? norma_call<Center::none, T>(operation, b) : norma_call<Center::mean, T>(operation, b);
}
template <class T>
Call unfused(const Operation& operation, const Buffers<T>& b) {
  return operation.rms ? unfused_call<Center::none, T>(operation, b) : unfused_call<Center::mean, T>(operation, b);
}

}  // namespace

#define NORM_BENCHMARK_TEXT_(x) #x
#define NORM_BENCHMARK_TEXT(x) NORM_BENCHMARK_TEXT_(x)

void add_norma(std::vector<Implementation>& implementations, std::string& header) {
  const Implementation own{"norma", [](const Operation&) { return true; }, norma<float>, norma<double>,
                           norma<bfloat16>};
  const Implementation apart{"unfused", [](const Operation& o) { return o.residual; }, unfused<float>, unfused<double>,
                             unfused<bfloat16>};
  implementations.push_back(own);
  implementations.push_back(apart);
  header += "norma: " + std::to_string(NORMA_VERSION_MAJOR) + "." + std::to_string(NORMA_VERSION_MINOR) + "." +
            std::to_string(NORMA_VERSION_PATCH) + ", " NORM_BENCHMARK_TEXT(NORMA_TARGET) ", 1 thread\n";
}

}  // namespace norm_benchmark
