// SPDX-License-Identifier: MIT
// The control of compile_fail/join_without_part_0.cpp.
#include <norma/norma.hpp>

/// Adds the branch to part 0 alone.
struct Second {
  static constexpr bool needs_skip = false, needs_branch = false;
  static constexpr bool writes(int part) { return part == 0; }
  void declare(norma::Layout&, norma::Index) {}
  template <class T, std::size_t N>
  void forward(const T*, const std::array<norma::MatrixView<const T>, N>&, norma::MatrixView<const T>,
               const std::array<norma::MatrixView<T>, N>&) const {}
  template <class T, std::size_t N>
  void backward(const T*, const std::array<norma::MatrixView<const T>, N>&, norma::MatrixView<const T>,
                const std::array<norma::MatrixView<T>, N>&, norma::MatrixView<T>, T*) const {}
};

struct Policy {
  auto slots(auto at) const { return norma::place<2>().join(Second{}).close(at.norm); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
