// SPDX-License-Identifier: MIT
// GLM's form of DeepNorm (Zeng et al., "GLM-130B", arXiv 2210.02414, section 2.1; the constants as in the authors'
// code):
//
//   x' = LN(alpha x + F(x))       for every sublayer F,  alpha = (2 L)^(1/2)
//
// The gain of the initial weights is (2 L)^(-1/2), on the matrices on which DeepNorm's beta acts. L counts blocks. The
// exponent is 1/2 where DeepNorm has 1/4: then a step of Adam, not of SGD, moves the output of the stack as far at
// every depth. Learned parameters: the norms', gamma = 1, beta = 0. No closing norm. The authors' code applies the same
// chain shifted by one norm, so that the skip starts from the normed input: WithEmbeddingNorm<GLMDeepNorm>. Here the
// skip of the first sublayer is the input.
#pragma once

#include <norma/residual/policy/deep_norm.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

struct GLMDeepNorm {
  std::optional<double> alpha{}, beta{};  ///< in place of the paper's constants

  auto slots(auto at) const {
    const double root = std::sqrt(2.0 * at.depth.layers);
    return DeepNorm{alpha.value_or(root), beta.value_or(1 / root)}.slots(at);
  }
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
