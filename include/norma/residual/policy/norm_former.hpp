// SPDX-License-Identifier: MIT
// NormFormer (Shleifer, Weston and Ott, "NormFormer", arXiv 2110.09456):
//
//   u = x + LN(HeadScaleMHA(LN(x)))                       head i times gamma_i before the output projection
//   y = rho * u + W_2 LN(act(W_1 LN(u)))                  rho: one factor per channel, if scale_skip
//
// and a norm once, at the end of the stack, which is required. Learned parameters: gamma_i = 1, one per head; rho = 1,
// [width]; the norms', gamma = 1, beta = 0, that inside the feed-forward [hidden]. The authors advise rho up to
// 355 million parameters; that it harms from 1.3 billion on is read in secondary texts. Cross-attention is as in
// Pre-LN. The authors' released code scales heads after the output projection; here they are scaled before it, as the
// paper says.
#pragma once

#include <norma/residual/either_table.hpp>
#include <norma/residual/gate.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct NormFormer {
  bool scale_skip = true;

  auto slots(auto at) const {
    using Rho = ChannelSkip<typename decltype(at)::Scalar>;
    return place()
        .pre(at.norm)
        .post(at.only(attention, at.norm))
        .join(at.only(feed_forward, EitherJoin(scale_skip, Rho("rho"), Add{})))
        .head_scale(at.only(attention, 1.0))
        .hidden(at.only(feed_forward, at.norm))
        .close(at.norm);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
