// SPDX-License-Identifier: MIT
// error: norma: blocks of one stack have one norm and one scalar type
#include <norma/norma.hpp>

using Reading = norma::DecoderBlock<norma::PreLN, float, norma::RMSNorm>;
const norma::Encoder<norma::Alternating<Reading, norma::Block<norma::PreLN>>> net({.width = 12, .heads = 3}, 2);
