// SPDX-License-Identifier: MIT
// Placements that differ by depth.
#include "golden_network.hpp"

namespace {

using golden::Network;

const Network<norma::Block<norma::B2T>> b2t("B2T");
const Network<norma::Block<norma::HybridNorm, float, norma::RMSNorm>> hybrid_norm("HybridNorm");
const Network<norma::Block<norma::HybridNorm, float, norma::RMSNorm>> hybrid_norm_starred(
    "HybridNorm starred", [](const golden::Options&) { return norma::HybridNorm{.starred = true}; });
const Network<norma::Block<norma::Keel>> keel("Keel");
const Network<norma::Block<norma::MixLN>> mix_ln("MixLN");

}  // namespace
