// SPDX-License-Identifier: MIT
// The control of compile_fail/after_step_of_no_parameter.cpp.
#include <norma/norma.hpp>

struct Hook {
  template <class T>
  void operator()(const norma::ParameterInfo&, norma::MatrixView<T>) const {}
};
struct Policy {
  auto slots(auto at) const { return norma::place().pre(at.norm).after_step(Hook{}); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
