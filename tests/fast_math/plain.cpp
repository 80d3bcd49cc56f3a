// SPDX-License-Identifier: MIT
// Without -ffast-math: what the other units of this program are compared with.
#include "pass.hpp"

#if defined(__FAST_MATH__)
#error "this unit is compiled without -ffast-math"
#endif

Results plain_pass(Net net, bool is_double) { return is_double ? pass<double>(net) : pass<float>(net); }
