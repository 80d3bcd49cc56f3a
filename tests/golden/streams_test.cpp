// SPDX-License-Identifier: MIT
// Parallel blocks, and placements of several streams.
#include <norma/residual/policy/pre_ln_per_branch.hpp>
#include <norma/residual/policy/resi_dual.hpp>
#include <norma/residual/policy/siamese_norm.hpp>

#include "golden_network.hpp"

namespace {

using golden::Network;

const Network<norma::ParallelBlock<norma::PreLN, float, norma::LayerNorm, norma::Attention, norma::GELUTanh>> parallel(
    "parallel PreLN GELUTanh");
const Network<norma::ParallelBlock<norma::PreLNPerBranch>> parallel_per_branch("parallel PreLNPerBranch");
const Network<norma::Block<norma::ResiDual>> resi_dual("ResiDual");
const Network<norma::Block<norma::SiameseNorm>> siamese_norm("SiameseNorm");

}  // namespace
