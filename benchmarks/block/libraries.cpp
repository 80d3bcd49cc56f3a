// SPDX-License-Identifier: MIT
// Products of oneDNN and of a CBLAS. Both are loaded at run time, each bound to its own names: torch holds parts of the
// same libraries under the same names, and whichever came first would serve all.
#include "problem.hpp"

#include <dlfcn.h>

#include <stdexcept>

#if defined(BLOCK_BENCHMARK_ONEDNN)
#include <oneapi/dnnl/dnnl.h>
#endif
#if defined(BLOCK_BENCHMARK_CBLAS)
#include <cblas.h>
#endif

namespace block_benchmark {
namespace {

[[maybe_unused]] void* opened(const char* path) {
#if defined(RTLD_DEEPBIND)
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
#else
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
#endif
  if (library == nullptr) throw std::runtime_error(dlerror());
  return library;
}

template <class F>
[[maybe_unused]] F found(void* library, const char* name) {
  const auto f = reinterpret_cast<F>(dlsym(library, name));
  if (f == nullptr) throw std::runtime_error(std::string("no function ") + name);
  return f;
}

}  // namespace

void add_onednn([[maybe_unused]] std::vector<Row>& rows, std::string& header) try {
#if defined(BLOCK_BENCHMARK_ONEDNN)
  void* library = opened(BLOCK_BENCHMARK_ONEDNN);
  const auto sgemm = found<decltype(&dnnl_sgemm)>(library, "dnnl_sgemm");
  add_products(rows, "onednn", [sgemm](const Product& p, int) {
    return [sgemm, p] {
      const Index lda = p.a_transposed ? p.m : p.k, ldb = p.b_transposed ? p.k : p.n;
      if (sgemm(p.a_transposed ? 'T' : 'N', p.b_transposed ? 'T' : 'N', p.m, p.n, p.k, 1, p.a, lda, p.b, ldb, 0, p.c,
                p.n) != dnnl_success)
        throw std::runtime_error("dnnl_sgemm failed");
    };
  });
  const dnnl_version_t& v = *found<decltype(&dnnl_version)>(library, "dnnl_version")();
  header += "onednn: " + std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch) +
            ", dnnl_sgemm, OpenMP\n";
#else
  header += "onednn: absent when this was built\n";
#endif
} catch (const std::exception& e) {
  header += std::string("onednn: not usable: ") + e.what() + "\n";
}

void add_cblas([[maybe_unused]] std::vector<Row>& rows, std::string& header) try {
#if defined(BLOCK_BENCHMARK_CBLAS)
  void* library = opened(BLOCK_BENCHMARK_CBLAS);
  const auto sgemm = found<decltype(&cblas_sgemm)>(library, "cblas_sgemm");
  // OpenBLAS has threads of its own; of another library they are whatever its environment says.
  const auto set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  const auto configuration = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_config"));
  add_products(rows, "cblas", [sgemm, set_threads](const Product& p, int threads) {
    if (set_threads != nullptr) set_threads(threads);
    return [sgemm, p] {
      const auto dimension = [](Index n) { return static_cast<int>(n); };
      sgemm(CblasRowMajor, p.a_transposed ? CblasTrans : CblasNoTrans, p.b_transposed ? CblasTrans : CblasNoTrans,
            dimension(p.m), dimension(p.n), dimension(p.k), 1, p.a, dimension(p.a_transposed ? p.m : p.k), p.b,
            dimension(p.b_transposed ? p.k : p.n), 0, p.c, dimension(p.n));
    };
  });
  header += std::string("cblas: ") + (configuration != nullptr ? configuration() : BLOCK_BENCHMARK_CBLAS) + "\n";
#else
  header += "cblas: absent when this was built\n";
#endif
} catch (const std::exception& e) {
  header += std::string("cblas: not usable: ") + e.what() + "\n";
}

}  // namespace block_benchmark
