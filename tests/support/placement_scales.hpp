// SPDX-License-Identifier: MIT
// Placements with gates, and norms at the ends, written as a user would: against the public headers only.
#pragma once

#include <cmath>
#include <optional>

#include <norma/norma.hpp>

namespace user {

using norma::attention;
using norma::constant;
using norma::feed_forward;
using norma::Index;
using norma::Kind;
using norma::Layout;
using norma::MatrixView;
using norma::Parameter;
using norma::Pass;
using norma::place;
using norma::Plan;
using norma::Scale;
using norma::scaled_skip;
using norma::Scope;
using norma::Stream;
using norma::then;
using norma::when;
using norma::Write;

/// Calls f(row, column) for every element of m.
template <class T, class F>
void each(MatrixView<T> m, F f) {
  for (Index r = 0; r < m.rows; ++r)
    for (Index i = 0; i < m.columns; ++i) f(r, i);
}

/// x + a w with one scalar a, shared as far as `scope` says. Starts at zero.
struct Gate {
  static constexpr bool needs_skip = false, needs_branch = true;
  static constexpr bool writes(int part) { return part == 0; }
  Scope scope = Scope::stack;
  Parameter gate{};

  void declare(Layout& layout, Index) { gate = layout.shared(scope, "gate", 1, 1, Kind::scale, constant(0)); }
  template <class T>
  void forward(const T* weights, const Stream<1, const T>& s, MatrixView<const T> w, const Stream<1, T>& to) const {
    const T a = *gate.in(weights).data;
    each(w, [&](Index r, Index i) { to[0].row(r)[i] = s[0].row(r)[i] + a * w.row(r)[i]; });
  }
  template <class T>
  void backward(const T* weights, const Stream<1, const T>&, MatrixView<const T> w, const Stream<1, T>& ds,
                MatrixView<T> dw, T* gradients) const {
    const T a = *gate.in(weights).data;
    double sum = 0;
    each(w, [&](Index r, Index i) {
      sum += double(ds[0].row(r)[i]) * double(w.row(r)[i]);
      dw.row(r)[i] = a * ds[0].row(r)[i];
    });
    *gate.in(gradients).data += static_cast<T>(sum);
  }
};

/// Pre-LN with one gate for the whole stack.
struct StackGate {
  auto slots(auto at) const { return place().pre(at.norm).join(Gate{}).close(at.norm); }
};

/// Pre-LN after a norm of the embedding (BLOOM).
struct NormedInput {
  auto slots(auto at) const { return place().open(at.norm).pre(at.norm).close(at.norm); }
};

/// Pre-LN closed by a reader of its one part.
struct ClosedByReader {
  auto slots(auto at) const { return place().pre(at.norm).close(then(norma::SumParts<1>{}, at.norm)); }
};

}  // namespace user
