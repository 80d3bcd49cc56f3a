// SPDX-License-Identifier: MIT
// The control of compile_fail/join_of_another_scalar.cpp.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const { return norma::place().join(norma::ScalarGate<typename decltype(at)::Scalar>(0)); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
