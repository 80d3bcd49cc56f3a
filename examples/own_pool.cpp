// SPDX-License-Identifier: MIT
// norma on your own threads.
#include "pool.hpp"
#include "serial_and_parallel.hpp"

int main() {
  Pool pool(3);
  return compare("own pool", pool.executor());
}
