// SPDX-License-Identifier: MIT
// Parallel blocks, and placements of several streams.
#include "golden_network.hpp"

namespace {

using golden::Network;

const Network<norma::ParallelBlock<norma::PreLN, float, norma::LayerNorm, norma::Attention, norma::GELUTanh>> parallel(
    "parallel PreLN GELUTanh");
const Network<norma::ParallelBlock<norma::PreLNPerBranch>> parallel_per_branch("parallel PreLNPerBranch");
const Network<norma::Block<norma::ResiDual>> resi_dual("ResiDual");
const Network<norma::Block<norma::SiameseNorm>> siamese_norm("SiameseNorm");
const Network<norma::Block<norma::HyperConnections<3>, float, norma::RMSNorm>> hyper_connections(
    "HyperConnections RMSNorm");
const Network<norma::Block<norma::DynamicHyperConnections<3>, float, norma::RMSNorm>> dynamic_hyper_connections(
    "DynamicHyperConnections RMSNorm");

}  // namespace
