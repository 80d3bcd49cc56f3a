// SPDX-License-Identifier: MIT
// error: norma: either\(\) of two joins that write different parts
// The parts that a block writes are known at compile time.
#include <norma/norma.hpp>

struct AddToPart1 {
  static constexpr bool needs_skip = false, needs_branch = false;
  static constexpr bool writes(int part) { return part == 1; }
  void declare(norma::Layout&, norma::Index) {}
  template <class T>
  void forward(const T*, const norma::Stream<2, const T>& s, norma::MatrixView<const T> w,
               const norma::Stream<2, T>& to) const {
    norma::kernels::add(s[1], w, to[1]);
  }
  template <class T>
  void backward(const T*, const norma::Stream<2, const T>&, norma::MatrixView<const T>, const norma::Stream<2, T>& ds,
                norma::MatrixView<T> dw, T*) const {
    norma::kernels::copy<T>(ds[1], dw);
  }
};
struct Policy {
  auto slots(auto at) const {
    return either(at.depth.layer == 1, norma::place<2>(), norma::place<2>().join(AddToPart1{})).per_block();
  }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
