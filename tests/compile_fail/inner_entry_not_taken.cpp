// SPDX-License-Identifier: MIT
// error: norma: the policy fills an inner entry that this sublayer does not take
// GELU has no gate.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto) const { return norma::place().gate(norma::Scale{2}); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
