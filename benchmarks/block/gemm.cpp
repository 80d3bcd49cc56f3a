// SPDX-License-Identifier: MIT
// The products of a block: 1024 tokens; forward x W^T (nt), the gradient of x (nn) and that of W (tn).
#include "../support/memory.hpp"
#include "numbers.hpp"
#include "problem.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <sstream>
#include <utility>

namespace block_benchmark {
namespace {

constexpr Index kTokens = 1024;
constexpr std::pair<Index, Index> kLayers[] = {{512, 2048}, {2048, 512},  {768, 3072},
                                               {3072, 768}, {1024, 4096}, {4096, 1024}};  // in, out

class Problem {
 public:
  explicit Problem(const Product& p)
      : product(p), a_(make("a", p.m, p.k)), b_(make("b", p.k, p.n)), c_(make("c", p.m, p.n)) {
    product.a = at(a_);
    product.b = at(b_);
    product.c = at(c_);
    for (Index i = 0; i < p.m * p.n; ++i) product.c[i] = std::numeric_limits<float>::quiet_NaN();
  }
  /// Some elements, spread over all rows and columns, against sums in double; errors over the sum of absolute terms.
  std::string check() const {
    const Product& p = product;
    for (Index sample = 0; sample < 500; ++sample) {
      const Index i = sample == 0 ? p.m - 1 : sample * 131 % p.m, j = sample == 0 ? p.n - 1 : sample * 277 % p.n;
      double sum = 0, terms = 0;
      for (Index l = 0; l < p.k; ++l) {
        const double a = p.a_transposed ? p.a[l * p.m + i] : p.a[i * p.k + l];
        const double b = p.b_transposed ? p.b[j * p.k + l] : p.b[l * p.n + j];
        sum += a * b;
        terms += std::abs(a * b);
      }
      const double found = p.c[i * p.n + j];
      if (std::abs(found - sum) <= 2e-6 * terms) continue;
      std::ostringstream text;
      text << "element (" << i << ", " << j << ") is " << found << ", not " << sum;
      return text.str();
    }
    return {};
  }
  Product product;

 private:
  static float* at(const benchmarks::Memory& memory) { return reinterpret_cast<float*>(memory.data()); }
  static benchmarks::Memory make(const char* name, Index rows, Index columns) {
    benchmarks::Memory memory(sizeof(float) * static_cast<std::size_t>(rows * columns));
    fill(name, at(memory), rows, columns);
    return memory;
  }
  benchmarks::Memory a_, b_, c_;
};

}  // namespace

void add_products(std::vector<Row>& rows, const std::string& implementation,
                  std::function<std::function<void()>(const Product&, int threads)> make) {
  for (const auto& [in, out] : kLayers) {
    const Product products[] = {{"nt", false, true, kTokens, out, in, nullptr, nullptr, nullptr},
                                {"nn", false, false, kTokens, in, out, nullptr, nullptr, nullptr},
                                {"tn", true, false, out, in, kTokens, nullptr, nullptr, nullptr}};
    for (const Product& p : products)
      for (const int threads : kThreads)
        rows.push_back({"gemm", implementation, p.variant, threads,
                        std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k),
                        2 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k),
                        [p, threads, make] {
                          const auto problem = std::make_shared<Problem>(p);
                          return Job{make(problem->product, threads), [problem] { return problem->check(); }};
                        }});
  }
}

}  // namespace block_benchmark
