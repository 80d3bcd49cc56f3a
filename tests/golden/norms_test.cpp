// SPDX-License-Identifier: MIT
// Other norms than LayerNorm.
#include "golden_network.hpp"

namespace {

using golden::Network;

const Network<norma::Block<norma::PreLN, float, norma::RMSNorm>> rms_norm("PreLN RMSNorm");
const Network<norma::Block<norma::PreLN, float, norma::ScaleNorm>> scale_norm("PreLN ScaleNorm");
const Network<norma::Block<norma::PreLN, float, norma::DyT>> dyt("PreLN DyT");
const Network<norma::Block<norma::PreLN, float, norma::Derf>> derf("PreLN Derf");

template <class Policy, template <class, class> class FeedForward>
using RMSBlock = norma::Block<Policy, float, norma::RMSNorm, norma::Attention, FeedForward>;
const Network<RMSBlock<norma::PeriLN, norma::GeGLUTanh>> peri_ln("PeriLN RMSNorm GeGLUTanh");
const Network<RMSBlock<norma::WithQKNorm<norma::OutputNorm, norma::WholeQKNorm>, norma::SwiGLU>> output_norm(
    "OutputNorm WholeQKNorm RMSNorm SwiGLU");
const Network<RMSBlock<norma::WithQKNorm<norma::PreLN, norma::PerHeadQKNorm>, norma::SwiGLU>> per_head_qk_norm(
    "PreLN PerHeadQKNorm RMSNorm SwiGLU");

}  // namespace
