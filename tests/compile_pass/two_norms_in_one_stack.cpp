// SPDX-License-Identifier: MIT
// The control of compile_fail/two_norms_in_one_stack.cpp.
#include <norma/norma.hpp>

using Reading = norma::DecoderBlock<norma::PreLN>;
const norma::Encoder<norma::Alternating<Reading, norma::Block<norma::PreLN>>> net({.width = 12, .heads = 3}, 2);
