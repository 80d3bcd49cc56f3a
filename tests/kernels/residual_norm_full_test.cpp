// SPDX-License-Identifier: MIT
#include "kernel_residual_tests.hpp"

namespace norma_test {

using Types = testing::Types<
    Normed<Storage<float, float>, Center::none>, Normed<Storage<double, double>, Center::mean>,
    Normed<Storage<double, double>, Center::none>, Normed<Storage<norma::bfloat16, norma::bfloat16>, Center::mean>,
    Normed<Storage<norma::half, float>, Center::mean>, Normed<Storage<norma::half, norma::half>, Center::none>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Full, ResidualNorm, Types);

}  // namespace norma_test
