// SPDX-License-Identifier: MIT
#pragma once

#include <norma/core/module.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET {

/// y = x: a norm that is not there. Costs nothing: its output is its input's view.
template <class T>
struct Identity : None {
  using Scalar = T;
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET
