// SPDX-License-Identifier: MIT
// Products of oneDNN and of a CBLAS. Both are loaded at run time, each bound to its own names: torch holds parts of the
// same libraries under the same names, and whichever came first would serve all.
#include "problem.hpp"

#include <dlfcn.h>

#include <memory>
#include <stdexcept>

#if defined(BLOCK_BENCHMARK_ONEDNN)
#include <oneapi/dnnl/dnnl.h>
#endif
#if defined(BLOCK_BENCHMARK_BLAS)
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

/// OpenBLAS has threads of its own; those of another library are as its environment says.
void (*set_openblas_threads)(int) = nullptr;

#if defined(BLOCK_BENCHMARK_ONEDNN)
void must(dnnl_status_t status) {
  if (status != dnnl_success) throw std::runtime_error("a call of oneDNN failed");
}

/// The matmul primitive on the matrices as they lie. Of a few calls per run of this program, none is freed.
class Matmul {
 public:
  Matmul(void* library, const Product& p) {
    const auto engine_create = found<decltype(&dnnl_engine_create)>(library, "dnnl_engine_create");
    const auto stream_create = found<decltype(&dnnl_stream_create)>(library, "dnnl_stream_create");
    const auto describe =
        found<decltype(&dnnl_memory_desc_create_with_strides)>(library, "dnnl_memory_desc_create_with_strides");
    const auto memory_create = found<decltype(&dnnl_memory_create)>(library, "dnnl_memory_create");
    const auto plan = found<decltype(&dnnl_matmul_primitive_desc_create)>(library, "dnnl_matmul_primitive_desc_create");
    const auto create = found<decltype(&dnnl_primitive_create)>(library, "dnnl_primitive_create");
    execute_ = found<decltype(execute_)>(library, "dnnl_primitive_execute");
    wait_ = found<decltype(wait_)>(library, "dnnl_stream_wait");

    dnnl_engine_t engine = nullptr;
    must(engine_create(&engine, dnnl_cpu, 0));
    must(stream_create(&stream_, engine, dnnl_stream_default_flags));
    const auto matrix = [&](Index rows, Index columns, bool transposed) {
      const dnnl_dims_t extent = {rows, columns}, strides = {transposed ? 1 : columns, transposed ? rows : 1};
      dnnl_memory_desc_t d = nullptr;
      must(describe(&d, 2, extent, dnnl_f32, strides));
      return d;
    };
    const dnnl_memory_desc_t a = matrix(p.m, p.k, p.a_transposed), b = matrix(p.k, p.n, p.b_transposed),
                             c = matrix(p.m, p.n, false);
    dnnl_primitive_desc_t planned = nullptr;
    must(plan(&planned, engine, a, b, nullptr, c, nullptr));
    must(create(&primitive_, planned));
    const auto argument = [&](int name, dnnl_memory_desc_t d, const float* data) {
      dnnl_exec_arg_t made{name, nullptr};
      must(memory_create(&made.memory, d, engine, const_cast<float*>(data)));
      arguments_.push_back(made);
    };
    argument(DNNL_ARG_SRC, a, p.a);
    argument(DNNL_ARG_WEIGHTS, b, p.b);
    argument(DNNL_ARG_DST, c, p.c);
  }
  void run() const {
    must(execute_(primitive_, stream_, static_cast<int>(arguments_.size()), arguments_.data()));
    must(wait_(stream_));
  }

 private:
  decltype(&dnnl_primitive_execute) execute_ = nullptr;
  decltype(&dnnl_stream_wait) wait_ = nullptr;
  dnnl_stream_t stream_ = nullptr;
  dnnl_primitive_t primitive_ = nullptr;
  std::vector<dnnl_exec_arg_t> arguments_;
};
#endif

}  // namespace

void set_blas_threads(int threads) {
  if (set_openblas_threads != nullptr) set_openblas_threads(threads);
}

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
  add_products(rows, "onednn_matmul", [library](const Product& p, int) {
    const auto matmul = std::make_shared<Matmul>(library, p);
    return [matmul] { matmul->run(); };
  });
  const dnnl_version_t& v = *found<decltype(&dnnl_version)>(library, "dnnl_version")();
  header += "onednn: " + std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch) +
            ", dnnl_sgemm and the matmul primitive, OpenMP\n";
#else
  header += "onednn: absent when this was built\n";
#endif
} catch (const std::exception& e) {
  header += std::string("onednn: not usable: ") + e.what() + "\n";
}

void add_cblas([[maybe_unused]] std::vector<Row>& rows, std::string& header) try {
#if defined(BLOCK_BENCHMARK_BLAS)
  void* library = opened(BLOCK_BENCHMARK_BLAS);
  const auto sgemm = found<decltype(&cblas_sgemm)>(library, "cblas_sgemm");
  set_openblas_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"));
  const auto configuration = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_config"));
  add_products(rows, "cblas", [sgemm](const Product& p, int threads) {
    set_blas_threads(threads);
    return [sgemm, p] {
      const auto dimension = [](Index n) { return static_cast<int>(n); };
      sgemm(CblasRowMajor, p.a_transposed ? CblasTrans : CblasNoTrans, p.b_transposed ? CblasTrans : CblasNoTrans,
            dimension(p.m), dimension(p.n), dimension(p.k), 1, p.a, dimension(p.a_transposed ? p.m : p.k), p.b,
            dimension(p.b_transposed ? p.k : p.n), 0, p.c, dimension(p.n));
    };
  });
  header += std::string("cblas: ") + (configuration != nullptr ? configuration() : BLOCK_BENCHMARK_BLAS) + "\n";
#else
  header += "cblas: absent when this was built\n";
#endif
} catch (const std::exception& e) {
  header += std::string("cblas: not usable: ") + e.what() + "\n";
}

}  // namespace block_benchmark
