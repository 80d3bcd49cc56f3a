// SPDX-License-Identifier: MIT
// error: norma: Standalone takes a module, matrix to matrix
#include <norma/norma.hpp>

const norma::Standalone network(norma::Embedding<float>(5), 12);
