// SPDX-License-Identifier: MIT
// The oldest placements, in decoders too; and norms.
#include "golden_network.hpp"

namespace {

using golden::Network;

const Network<norma::Block<norma::PostLN>> post_ln("PostLN");
const Network<norma::Block<norma::PreLN>> pre_ln("PreLN");
const Network<norma::DecoderBlock<norma::PostLN>> decoder_post_ln("decoder PostLN");
const Network<norma::DecoderBlock<norma::PreLN>> decoder_pre_ln("decoder PreLN");
const Network<norma::Block<norma::DeepNorm>> deep_norm("DeepNorm");
const golden::Pair<norma::Block<norma::DeepNorm>, norma::DecoderBlock<norma::DeepNorm>> encoder_decoder(
    "encoder-decoder DeepNorm");

}  // namespace
