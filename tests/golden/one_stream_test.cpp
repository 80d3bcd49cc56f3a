// SPDX-License-Identifier: MIT
// Placements of one stream without gates.
#include "golden_network.hpp"

namespace {

using golden::Network;

const Network<norma::Block<norma::GLMDeepNorm>> glm_deep_norm("GLMDeepNorm");
const Network<norma::Block<norma::NormFormer>> norm_former("NormFormer");
const Network<norma::Block<norma::LayerNormScaling>> layer_norm_scaling("LayerNormScaling");
const Network<norma::Block<norma::Sandwich>> sandwich("Sandwich");
const Network<norma::Block<norma::SubLN>> sub_ln("SubLN");
const Network<norma::Block<norma::ScaledResidual>> scaled_residual("ScaledResidual", [](const auto& options) {
  return norma::ScaledResidual{.skip = options.number("skip"), .branch = options.number("branch")};
});

}  // namespace
