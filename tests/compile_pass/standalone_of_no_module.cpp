// SPDX-License-Identifier: MIT
// The control of compile_fail/standalone_of_no_module.cpp.
#include <norma/norma.hpp>

const norma::Standalone network(norma::Linear<float>(5, norma::Kind::up), 12);
