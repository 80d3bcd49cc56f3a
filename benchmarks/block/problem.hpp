// SPDX-License-Identifier: MIT
// What is measured: rows, the shapes of blocks and products, and the numbers in them.
#pragma once

#include <norma/core/shape.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace block_benchmark {

using norma::Index;

/// One timed call, and what its results are compared with afterwards: empty if right, else the first difference.
/// Everything that a user does once (weights, workspaces, primitives) is done when a job is made.
struct Job {
  std::function<void()> run;
  std::function<std::string()> check;
};

/// Named operation/implementation/variant/dtype/threads/shape.
struct Row {
  std::string operation, implementation, variant;
  int threads;
  std::string shape;
  double flop;  ///< of one call, as the problem needs them: the same for every implementation
  std::function<Job()> make;

  std::string name() const {
    return operation + "/" + implementation + "/" + variant + "/f32/t" + std::to_string(threads) + "/" + shape;
  }
};

#if defined(_OPENMP)
inline constexpr int kThreads[] = {1, 2};
#else
inline constexpr int kThreads[] = {1};
#endif

// Blocks.

struct Extent {
  Index batch, tokens, width, heads, hidden;

  std::string name() const {
    return std::to_string(batch) + "x" + std::to_string(tokens) + "x" + std::to_string(width);
  }
  Index rows() const { return batch * tokens; }
  Index size() const { return rows() * width; }
  /// Multiply-adds of the products, times two: four projections, scores and mixtures, two layers. Norms, softmax and
  /// activations are not counted.
  double forward_flop() const {
    const double projections = static_cast<double>(rows()) * static_cast<double>(width) *
                               (4 * static_cast<double>(width) + 2 * static_cast<double>(hidden));
    return 2 * (projections + 2 * static_cast<double>(size()) * static_cast<double>(tokens));
  }
};

inline constexpr Extent kExtents[] = {{8, 128, 512, 8, 2048}, {4, 256, 768, 12, 3072}};
/// For real-time use.
inline constexpr Extent kSmallExtents[] = {{1, 1, 16, 2, 64},   {1, 16, 16, 2, 64}, {1, 1, 32, 2, 128},
                                           {1, 16, 32, 2, 128}, {1, 1, 64, 2, 256}, {1, 16, 64, 2, 256}};

inline constexpr double kEps = 1e-5;

/// y, dx and the gradients of the parameters, by norma's names.
template <class T>
using Tensors = std::map<std::string, std::vector<T>>;

/// What norma computes in double with the same numbers.
const Tensors<double>& reference(const std::string& variant, const Extent& extent);
/// Compares y, and if `backward` everything, with the reference. Empty if right.
std::string wrong(const Tensors<float>& found, const std::string& variant, const Extent& extent, bool backward);

// Products.

/// c = a b, row-major and without gaps. A transposed operand lies as [k, m] or [n, k].
struct Product {
  const char* variant;
  bool a_transposed, b_transposed;
  Index m, n, k;
  const float *a, *b;
  float* c;
};

/// Rows for every shape and transposition. make: called with the threads to use.
void add_products(std::vector<Row>& rows, const std::string& implementation,
                  std::function<std::function<void()>(const Product&, int threads)> make);

// Each appends its rows, and its lines for the header: version, or why it is absent.
void add_peak(std::vector<Row>& rows, std::string& header);
void add_norma(std::vector<Row>& rows, std::string& header);
void add_norma_blas(std::vector<Row>& rows, std::string& header);
void add_norma_onednn(std::vector<Row>& rows, std::string& header);
void add_eigen(std::vector<Row>& rows, std::string& header);
void add_onednn(std::vector<Row>& rows, std::string& header);
void add_cblas(std::vector<Row>& rows, std::string& header);
void add_torch(std::vector<Row>& rows, std::string& header);

/// Of a CBLAS that has threads of its own. One, where norma splits the product.
void set_blas_threads(int threads);

/// A register-only loop of `steps` steps; its result, so that it is not left out.
float fma_loop(Index steps);
/// The processor's clock in GHz: a chain of additions, one in a cycle.
double clock_ghz();

}  // namespace block_benchmark
