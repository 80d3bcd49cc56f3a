// SPDX-License-Identifier: MIT
// The control of compile_fail/encoder_that_reads.cpp.
#include <norma/norma.hpp>

using Decoder = norma::DecoderBlock<norma::PreLN>;
const norma::EncoderDecoder<norma::Block<norma::PreLN>, Decoder> net({.width = 12, .heads = 3}, 1, 1);
