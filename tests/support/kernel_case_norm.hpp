// SPDX-License-Identifier: MIT
// One call of a norm kernel on plain vectors, for the cases.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include <norma/kernels/norm.hpp>

#include "kernel_memory.hpp"

namespace norma_test {

using norma::kernels::Center;

template <Center C, class S = float>
struct NormCall {
  using T = norma::Compute<S>;
  Index width;
  std::vector<S> x;
  double eps = C == Center::mean ? 1e-5 : 1e-6;
  std::vector<S> gamma{}, beta{};  // empty: absent
  // Results; dgamma and dbeta are added to, and made here unless given.
  std::vector<S> y{}, dx{}, dgamma{}, dbeta{};
  std::vector<T> hi{}, lo{}, rstd{};

  Index rows() const { return static_cast<Index>(x.size()) / width; }

  NormCall& forward() {
    y.assign(x.size(), S(99.0f));
    const auto r = static_cast<std::size_t>(rows());
    hi.assign(r, T(99)), lo.assign(r, T(99)), rstd.assign(r, T(99));
    norma::kernels::norm_forward<C, S>({x.data(), rows(), width}, optional(gamma), optional(beta), eps,
                                       {y.data(), rows(), width}, {hi.data(), lo.data(), rstd.data()});
    return *this;
  }
  NormCall& backward(const std::vector<S>& dy) {
    dx = dy;  // on top of dy, as every site does
    const auto n = static_cast<std::size_t>(width);
    dgamma.resize(n), dbeta.resize(n);
    std::vector<T> partial(2 * n);
    std::vector<double> total(2 * n * static_cast<std::size_t>(rows() / 256 + 1));  // a row per block of 256
    norma::kernels::norm_backward<C, S>({x.data(), rows(), width}, {dx.data(), rows(), width}, optional(gamma), eps,
                                        {hi.data(), lo.data(), rstd.data()}, {dx.data(), rows(), width},
                                        norma::Write::assign, dgamma.data(), dbeta.data(),
                                        {partial.data(), total.data(), 2 * width});
    return *this;
  }

 private:
  static S* optional(std::vector<S>& v) { return v.empty() ? nullptr : v.data(); }
};
template <class T = float>
using LayerNormCall = NormCall<Center::mean, T>;
template <class T = float>
using RMSNormCall = NormCall<Center::none, T>;

template <class T>
void expect_near(const std::vector<T>& given, const std::vector<double>& right, double tolerance) {
  ASSERT_EQ(given.size(), right.size());
  for (std::size_t i = 0; i < given.size(); ++i)
    EXPECT_NEAR(static_cast<double>(given[i]), right[i], tolerance) << "element " << i;
}
template <class T>
void expect_bits(const std::vector<T>& a, const std::vector<T>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_TRUE(same_bits(a.data(), b.data(), static_cast<Index>(a.size())));
}

}  // namespace norma_test
