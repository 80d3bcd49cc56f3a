// SPDX-License-Identifier: MIT
// error: norma: this slot takes a module, or a reader of as many parts as the stream has
// Nor does it read a stream.
#include <norma/norma.hpp>

/// x times a learned number.
struct Scaled {
  static constexpr bool needs_x = false;
  struct Tape {};
  void declare(norma::Layout&, norma::Index) {}
  Tape plan(norma::Plan&, const norma::Pass&) const { return {}; }
  template <class T>
  void forward(const T*, norma::MatrixView<const T>, norma::MatrixView<T>, const Tape&) const {}
};

struct Policy {
  auto slots(auto) const { return norma::place().pre(Scaled{}); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
