// SPDX-License-Identifier: MIT
// Networks of files about attention that no file about a placement has.
#include "golden_network.hpp"

namespace {

using golden::Network;

template <class Policy, template <class, class> class FeedForward>
using RMSBlock = norma::Block<Policy, float, norma::RMSNorm, norma::Attention, FeedForward>;
const Network<RMSBlock<norma::PreLN, norma::ReLU>> relative_bias("PreLN RMSNorm ReLU");
const Network<RMSBlock<norma::PreLN, norma::SwiGLU>> rotary_by_turns("PreLN RMSNorm SwiGLU");
const Network<RMSBlock<norma::WithQKNorm<norma::PeriLN, norma::PerHeadQKNorm>, norma::GeGLUTanh>> two_rotary_bases(
    "PeriLN PerHeadQKNorm RMSNorm GeGLUTanh");

}  // namespace
