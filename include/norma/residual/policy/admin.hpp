// SPDX-License-Identifier: MIT
// Admin (Liu et al., "Understanding the Difficulty of Training Transformers", arXiv 2004.08249):
//
//   x' = LN(omega x + F(x))       for every sublayer F, omega a diagonal matrix
//
//   omega_1 = 1,  omega_i = sqrt(Var[omega_(i-1) x_(i-1)] + Var[F_(i-1)(x_(i-1))])       as in the authors' code
//
// i runs over all sublayers of a stack; the variances are over tokens and channels, in one pass that measures, made
// before training: network.calibrate(weights, ...). Learned parameters: the norms', and omega, [width] per sublayer, 1
// until it is measured: without the measurement this is Post-LN. No closing norm.
#pragma once

#include <norma/residual/gate.hpp>
#include <norma/residual/table.hpp>

#include <algorithm>
#include <cmath>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// omega x + w, with Admin's measurement. A site at which the measure is not finite, or is 0, is an Error and is not
/// written; those before it are.
template <class T>
struct AdminSkip : ChannelSkip<T>, CalibratedJoin {
  AdminSkip() : ChannelSkip<T>("omega") {}

  void calibrate(T* weights, const Stream<1, const T>& s, MatrixView<const T> w, Calibration& calibration) const {
    const double omega = calibration.running;
    const double next = std::sqrt(simd::fma(omega * omega, variance(s[0], calibration), variance(w, calibration)));
    if (const T stored = static_cast<T>(next); !simd::is_finite(stored) || stored <= 0)
      fail("calibrate: what a site measured is not a finite number above 0");
    std::fill_n(this->parameter().in(weights).data, w.columns, static_cast<T>(omega));
    calibration.running = next;
  }

 private:
  /// Over all elements of the rows that count, in two passes.
  static double variance(MatrixView<const T> m, const Calibration& calibration) {
    // The mean of (v - shift)^power.
    const auto moment = [&](double shift, int power) {
      double sum = 0;
      Index count = 0;
      for (Index r = 0; r < m.rows; ++r) {
        if (!calibration.counts(r)) continue;
        for (Index i = 0; i < m.columns; ++i) {
          const double v = static_cast<double>(m.row(r)[i]) - shift;
          sum = simd::fma(v, power == 2 ? v : 1, sum);
        }
        count += m.columns;
      }
      return count > 0 ? sum / static_cast<double>(count) : 0;
    };
    return moment(moment(0, 1), 2);
  }
};

struct Admin {
  auto slots(auto at) const {
    using T = typename decltype(at)::Scalar;
    return place().join(AdminSkip<T>()).out(at.norm);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
