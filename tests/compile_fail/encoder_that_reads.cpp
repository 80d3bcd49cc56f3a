// SPDX-License-Identifier: MIT
// error: norma: the encoder's block reads a memory, and has none; make it a Block
#include <norma/norma.hpp>

using Decoder = norma::DecoderBlock<norma::PreLN>;
const norma::EncoderDecoder<norma::DecoderBlock<norma::PreLN>, Decoder> net({.width = 12, .heads = 3}, 1, 1);
