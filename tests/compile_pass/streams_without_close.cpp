// SPDX-License-Identifier: MIT
// The control of compile_fail/streams_without_close.cpp.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const { return norma::place<2>().pre(at.norm).close(at.norm); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
