// SPDX-License-Identifier: MIT
// The control of compile_fail/planned_join_without_its_tape.cpp.
#include <norma/norma.hpp>

struct Join : norma::PlannedJoin {
  static constexpr bool needs_skip = false, needs_branch = false;
  static constexpr bool writes(int part) { return part == 0; }
  struct Tape {};
  void declare(norma::Layout&, norma::Index) {}
  Tape plan(norma::Plan&, const norma::Pass&) const { return {}; }
  template <class T>
  void forward(const T*, const norma::Stream<1, const T>& s, norma::MatrixView<const T> w,
               const norma::Stream<1, T>& to, const Tape&) const {
    norma::kernels::add(s[0], w, to[0]);
  }
  template <class T>
  void backward(const T*, const norma::Stream<1, const T>&, norma::MatrixView<const T>, const norma::Stream<1, T>& ds,
                norma::MatrixView<T> dw, T*, const Tape&) const {
    norma::kernels::copy<T>(ds[0], dw);
  }
};
struct Policy {
  auto slots(auto at) const { return norma::place().pre(at.norm).join(Join{}); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
