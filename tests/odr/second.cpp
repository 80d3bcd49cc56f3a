// SPDX-License-Identifier: MIT
#include "shared.hpp"

Second second_unit() {
  return {run_block<Shared>(), run_block<OnlySecond>(), run_block<OnlyFirst>(),
          TEXT(NORMA_TARGET),  &norma::error_handler,   &norma::version};
}
void second_unit_fails() { norma::fail("from the second unit"); }
