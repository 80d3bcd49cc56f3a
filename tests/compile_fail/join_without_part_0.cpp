// SPDX-License-Identifier: MIT
// error: norma: a join of the block writes part 0
// A join writes part 0.
#include <norma/norma.hpp>

/// Adds the branch to part 1 alone.
struct Second {
  static constexpr bool needs_skip = false, needs_branch = false;
  static constexpr bool writes(int part) { return part == 1; }
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
