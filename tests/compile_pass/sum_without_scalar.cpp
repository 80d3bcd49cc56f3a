// SPDX-License-Identifier: MIT
// The control of compile_fail/sum_without_scalar.cpp.
#include <norma/norm/identity.hpp>
#include <norma/residual/streams.hpp>

const auto reader = norma::SumOf(norma::Scale{1}, norma::Identity<float>{});
