// SPDX-License-Identifier: MIT
// Placements with learned gates and scales.
#include "golden_network.hpp"

namespace {

using golden::Network;

const Network<norma::Block<norma::ReZero>> re_zero("ReZero");
const Network<norma::Block<norma::LayerScale>> layer_scale("LayerScale");
const Network<
    norma::CrossAttentionBlock<norma::GatedCrossAttention, float, norma::RMSNorm, norma::CrossAttention, norma::SwiGLU>>
    gated_cross_attention("GatedCrossAttention RMSNorm SwiGLU");
const Network<norma::Block<norma::Admin>> admin("Admin");
const Network<norma::Block<norma::TFixup>> t_fixup("TFixup");
const Network<norma::Block<norma::Fixup>> fixup("Fixup");
const Network<norma::Block<norma::NGPT, float, norma::LayerNorm, norma::Attention, norma::SwiGLU>> ngpt("NGPT SwiGLU");

}  // namespace
