// SPDX-License-Identifier: MIT
// The control of compile_fail/close_at_a_sublayer_only.cpp.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const { return norma::place().pre(at.norm).close(at.norm); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
