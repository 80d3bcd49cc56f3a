// SPDX-License-Identifier: MIT
// error: no member named .prre.
// A misspelt slot is not a member of the table.
#include <norma/norma.hpp>

struct Policy {
  auto slots(auto at) const { return norma::place().prre(at.norm); }
};

const norma::Block<Policy> block({.width = 12, .heads = 3});
