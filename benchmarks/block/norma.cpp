// SPDX-License-Identifier: MIT
// norma: blocks by placement, and the product. Compiled once more for each other backend of the product.
#include "norma_block.hpp"

#include "../support/memory.hpp"

#include <memory>

namespace block_benchmark {
namespace {

/// The product as a module plans and calls it.
std::function<void()> product(const Product& p, int threads) {
  namespace kernels = norma::kernels;
  const auto run_by = executor(threads);
  const Index packing = kernels::gemm_scratch<float>(p.m, p.n, p.k, {.transposed_a = p.a_transposed});
  const auto memory =
      std::make_shared<benchmarks::Memory>(sizeof(float) * static_cast<std::size_t>(packing * run_by.workers));
  const norma::MatrixView<float> scratch(reinterpret_cast<float*>(memory->data()), run_by.workers, packing);
  using View = norma::MatrixView<const float>;
  const auto a = p.a_transposed ? kernels::transposed(View(p.a, p.k, p.m)) : kernels::plain(View(p.a, p.m, p.k));
  const auto b = p.b_transposed ? kernels::transposed(View(p.b, p.n, p.k)) : kernels::plain(View(p.b, p.k, p.n));
  const norma::MatrixView<float> c(p.c, p.m, p.n);
  return [=] {
    static_cast<void>(memory);
    kernels::gemm(run_by, a, b, c, norma::Write::assign, scratch);
  };
}

template <class Block>
Job job(const char* variant, const Extent& extent, int threads, bool training) {
  const auto block = std::make_shared<NormaBlock<Block>>(extent, threads, training);
  Job made;
  if (training)
    made.run = [block] { block->forward_backward(); };
  else
    made.run = [block] { block->forward(); };
  made.check = [=] { return wrong(block->results(), variant, extent, training); };
  return made;
}

}  // namespace

#define BLOCK_BENCHMARK_TEXT_(x) #x
#define BLOCK_BENCHMARK_TEXT(x) BLOCK_BENCHMARK_TEXT_(x)
#if defined(BLOCK_BENCHMARK_BACKEND)
#define BLOCK_BENCHMARK_NAME_(x) norma_##x
#define BLOCK_BENCHMARK_NAME(x) BLOCK_BENCHMARK_NAME_(x)
#define BLOCK_BENCHMARK_IMPLEMENTATION BLOCK_BENCHMARK_NAME(BLOCK_BENCHMARK_BACKEND)
#else
#define BLOCK_BENCHMARK_IMPLEMENTATION norma
#endif
#define BLOCK_BENCHMARK_ADD_(x) add_##x
#define BLOCK_BENCHMARK_ADD(x) BLOCK_BENCHMARK_ADD_(x)

void BLOCK_BENCHMARK_ADD(BLOCK_BENCHMARK_IMPLEMENTATION)(std::vector<Row>& rows, std::string& header) {
  const std::string name = BLOCK_BENCHMARK_TEXT(BLOCK_BENCHMARK_IMPLEMENTATION);
  add_products(rows, name, product);
  for_each_placement<float>([&]<class Block>(const char* variant) {
    const auto add = [&](const char* operation, const Extent& extent, int threads, bool training) {
      rows.push_back({operation, name, variant, threads, extent.name(), (training ? 3 : 1) * extent.forward_flop(),
                      [=] { return job<Block>(variant, extent, threads, training); }});
    };
    for (const int threads : kThreads)
      for (const Extent& extent : kExtents) {
        add("block_forward", extent, threads, false);
        add("block_forward_backward", extent, threads, true);
      }
    if (std::string_view(variant) == "PreLN")
      for (const Extent& extent : kSmallExtents) add("small_block_forward", extent, 1, false);
  });
  header += name + ": " + std::to_string(NORMA_VERSION_MAJOR) + "." + std::to_string(NORMA_VERSION_MINOR) + "." +
            std::to_string(NORMA_VERSION_PATCH) + ", " BLOCK_BENCHMARK_TEXT(NORMA_TARGET) +
            "; 2 threads: norma::openmp()\n";
}

}  // namespace block_benchmark
