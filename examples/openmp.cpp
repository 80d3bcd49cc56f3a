// SPDX-License-Identifier: MIT
// norma on OpenMP's threads. Built where the compiler has OpenMP.
#include <norma/core/openmp.hpp>

#include "serial_and_parallel.hpp"

int main() {
  const int status = compare("OpenMP", norma::openmp());
  return status + compare("OpenMP", norma::openmp(3));
}
