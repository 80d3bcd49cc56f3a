// SPDX-License-Identifier: MIT
// error: norma: SumOf\(a, b\) needs a module with a Scalar
// A Scale works in any scalar type, so two of them say none.
#include <norma/residual/streams.hpp>

const auto reader = norma::SumOf(norma::Scale{1}, norma::Scale{2});
