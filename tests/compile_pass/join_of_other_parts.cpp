// SPDX-License-Identifier: MIT
// The control of compile_fail/join_of_other_parts.cpp.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const { return norma::place<2>().join(norma::Add{}).close(at.norm); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
