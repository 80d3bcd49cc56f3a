// SPDX-License-Identifier: MIT
// norm_benchmark --errors: how far every implementation is from the exact result, on rows that break careless norms.
#include "arena.hpp"
#include "oracle.hpp"
#include "problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace norm_benchmark {
namespace {

constexpr Index kRows = 64;
constexpr Index kWidths[] = {1, 7, 64, 769, 4096};  // 1 is a kind of its own: there the others are all one value

/// The neighbour of v, as T stores it, nearer to zero.
template <class T>
double below(double v) {
  T t = from_double<T>(v);
  if constexpr (std::is_same_v<T, bfloat16>)
    --t.bits;
  else
    t = std::nextafter(t, T(0));
  return to_double(t);
}

/// Element i of n, from a normal variate and a value from 1000 to 2000 for the whole row, its last bits anything.
struct Kind {
  const char* name;
  double (*value)(Index i, Index n, double normal, double level);
};
template <class T>
constexpr double kHuge = sizeof(T) == 8 ? 1e300 : 1e37;
template <class T>
constexpr Kind kKinds[] = {
    {"normal", [](Index, Index, double v, double) { return v; }},
    {"mean 1e3 spreads", [](Index, Index, double v, double) { return 1e3 + v; }},
    {"mean 1e6 spreads", [](Index, Index, double v, double) { return 1e6 + v; }},
    {"one outlier, 1e4", [](Index i, Index n, double v, double) { return i == n / 2 ? 1e4 : v; }},
    {"first quarter at 1e6", [](Index i, Index n, double v, double) { return i < n / 4 ? 1e6 + v : v; }},
    {"two values", [](Index i, Index n, double, double c) { return i < n / 2 ? c : -1; }},
    {"constant", [](Index, Index, double, double c) { return c; }},
    {"constant, one ulp off", [](Index i, Index n, double, double c) { return i == n - 1 ? below<T>(c) : c; }},
    {"2^-20 to 2^20",
     [](Index i, Index, double v, double) { return std::ldexp(v, static_cast<int>(i * 7 % 41) - 20); }},
    {kHuge<T> > 1e37 ? "huge, 1e300" : "huge, 1e37", [](Index, Index, double v, double) { return v * kHuge<T>; }},
    {kHuge<T> > 1e37 ? "tiny, 1e-300" : "tiny, 1e-37", [](Index, Index, double v, double) { return v / kHuge<T>; }},
    {"width 1", [](Index, Index, double, double c) { return c; }},
};

/// The exact result of one row, and what the error of each element is divided by.
struct Exact {
  std::vector<long double> result, scale;

  template <class T>
  Exact(const Operation& operation, const Buffers<T>& b, Index row) {
    const Index n = b.extent.width;
    const auto size = static_cast<long double>(n);
    // Differences from the first element are exact or nearly so: a large mean costs no digits.
    const long double first = operation.rms ? 0 : to_double(b.x[row * n]);
    long double mean = 0, square = 0, largest = 0;
    for (Index i = 0; i < n; ++i) result.push_back(to_double(b.x[row * n + i]) - first);
    if (!operation.rms)
      for (const long double v : result) mean += v / size;
    for (const long double v : result) square += (v - mean) * (v - mean) / size;
    const long double rstd = 1 / std::sqrt(square + static_cast<long double>(kEps));
    for (long double& v : result) largest = std::max(largest, std::fabs(v = (v - mean) * rstd));
    const auto at = [](Index i) { return static_cast<std::size_t>(i); };
    const auto gamma = [&](Index i) { return static_cast<long double>(b.gamma[i]); };
    if (operation.forward()) {
      for (Index i = 0; i < n; ++i) {
        const long double beta = operation.rms ? 0 : static_cast<long double>(b.beta[i]);
        result[at(i)] = result[at(i)] * gamma(i) + beta;
        scale.push_back(std::fabs(gamma(i)) * largest + std::fabs(beta));
      }
      return;
    }
    const auto h = [&](Index i) { return to_double(b.dy[row * n + i]) * gamma(i); };
    long double mean_h = 0, mean_hn = 0;
    for (Index i = 0; i < n; ++i) {
      if (!operation.rms) mean_h += h(i) / size;
      mean_hn += h(i) * result[at(i)] / size;
    }
    largest = 0;
    for (Index i = 0; i < n; ++i) {
      result[at(i)] = rstd * (h(i) - mean_h - result[at(i)] * mean_hn);
      largest = std::max(largest, std::fabs(result[at(i)]));
    }
    scale.assign(at(n), largest);
  }
};

/// The worst error of a call, in units; NaN where anything is not finite.
template <class T>
double worst_error(const Operation& operation, const Buffers<T>& b, const std::vector<Exact>& exact) {
  const T* out = operation.forward() ? b.y : b.dx;
  long double worst = 0;
  for (const Exact& row : exact)
    for (std::size_t i = 0; i < row.result.size(); ++i) {
      const long double is = to_double(*out++), should = row.result[i];
      if (!std::isfinite(is)) return std::numeric_limits<double>::quiet_NaN();
      long double error = std::fabs(is - should);
      if (std::is_same_v<T, bfloat16>)  // what storing costs even the exact result: half a unit of 8 bits
        error -= std::ldexp(1.0L, std::max(std::ilogb(std::max(std::fabs(is), std::fabs(should))), -126) - 8);
      worst = std::max(worst, error / row.scale[i]);
    }
  return static_cast<double>(worst) * (sizeof(T) == 8 ? 0x1p52 : 0x1p23);
}

void print_cells(const char* name, const std::vector<double>& values) {
  std::printf("| %-21s |", name);
  for (const double v : values) std::printf(v < 99.95 ? " %13.1f |" : v < 99999.5 ? " %13.0f |" : " %13.0e |", v);
  std::printf("\n");
}

template <class T, class Make>
void print_table(const Operation& operation, const std::vector<Implementation>& implementations, Make make) {
  std::printf("%s/%s\n\n| %-21s |", operation.name, kTypeName<T>, "");
  std::string line = "\n|-----------------------|";
  std::vector<Call (*)(const Operation&, const Buffers<T>&)> makes;
  for (const Implementation& i : implementations)
    if (i.has(operation) && i.*make != nullptr) {
      makes.push_back(i.*make);
      std::printf(" %13s |", i.name);
      line += "--------------:|";
    }
  std::printf("%s\n", line.c_str());
  std::vector<double> all(makes.size());
  Normal normal;
  for (const Kind& kind : kKinds<T>) {
    const bool width_1 = std::string_view(kind.name) == "width 1";
    if (width_1 && !operation.forward()) continue;  // without centre 1 - n^2 = eps rstd^2 is left, with it nothing
    std::vector<double> worst(makes.size());
    for (const Index n : kWidths) {
      if ((n == 1) != width_1) continue;
      const auto width = static_cast<std::size_t>(n), size = static_cast<std::size_t>(kRows * n);
      std::vector<T> x(size), dy(size), y(size);
      std::vector<Parameter<T>> gamma(width), beta(width), dgamma(width), dbeta(width);
      for (auto* p : {&gamma, &beta})  // far enough from zero, for it is part of what errors are divided by
        for (auto& v : *p) v = static_cast<Parameter<T>>(std::copysign(0.5 + normal.uniform(), normal()));
      for (auto& v : dy) v = from_double<T>(normal());
      for (Index r = 0; r < kRows; ++r) {
        const double level = 1000 * (1 + normal.uniform());
        for (Index i = 0; i < n; ++i)
          x[static_cast<std::size_t>(r * n + i)] = from_double<T>(kind.value(i, n, normal(), level));
      }
      const Buffers<T> b{{kRows, n},  x.data(), x.data(), x.data(), dy.data(),     dy.data(),   gamma.data(),
                         beta.data(), y.data(), y.data(), y.data(), dgamma.data(), dbeta.data()};
      std::vector<Exact> exact;
      for (Index r = 0; r < kRows; ++r) exact.emplace_back(operation, b, r);
      for (std::size_t k = 0; k < makes.size(); ++k) {
        const Call call = makes[k](operation, b);
        poison(y.data(), b.size());
        call();
        const double e = worst_error(operation, b, exact);
        for (double* w : {&worst[k], &all[k]})
          if (!(e <= *w) && !std::isnan(*w)) *w = e;  // NaN stays
      }
    }
    print_cells(kind.name, worst);
  }
  print_cells("worst", all);
  std::printf("\n");
}

}  // namespace

void print_errors(const std::vector<Implementation>& implementations, const std::string& wanted) {
  std::printf(
      "Worst errors against long double, of %d rows of each width 7, 64, 769 and 4096, eps 1e-5, in units of 2^-23\n"
      "(f64: 2^-52). Forward: of |gamma| max|n| + |beta|, n the normalised row. Backward: of the row's largest |dx|.\n"
      "bf16: what is beyond half a unit in the last place. nan: a finite result came out not finite.\n\n",
      static_cast<int>(kRows));
  for (const Operation& operation : kOperations) {
    if (operation.residual) continue;
    const auto is_wanted = [&](const char* type) {
      return (std::string(operation.name) + "/" + type).find(wanted) != std::string::npos;
    };
    if (is_wanted("f32")) print_table<float>(operation, implementations, &Implementation::f32);
    if (is_wanted("f64")) print_table<double>(operation, implementations, &Implementation::f64);
    if (is_wanted("bf16")) print_table<bfloat16>(operation, implementations, &Implementation::bf16);
  }
}

}  // namespace norm_benchmark
