// SPDX-License-Identifier: MIT
// The control of compile_fail/reader_without_backward.cpp.
#include <norma/norma.hpp>

/// x times a learned number.
struct Scaled {
  static constexpr bool needs_x = false;
  struct Tape {};
  void declare(norma::Layout&, norma::Index) {}
  Tape plan(norma::Plan&, const norma::Pass&) const { return {}; }
  template <class T>
  void forward(const T*, norma::MatrixView<const T>, norma::MatrixView<T>, const Tape&) const {}
  template <class T>
  void backward(const T*, norma::MatrixView<const T>, norma::MatrixView<const T>, norma::MatrixView<T>, norma::Write,
                T*, const Tape&) const {}
};

struct Policy {
  auto slots(auto) const { return norma::place().pre(Scaled{}); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
