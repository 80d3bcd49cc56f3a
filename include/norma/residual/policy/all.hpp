// SPDX-License-Identifier: MIT
// Every placement of the library.
#pragma once

#include <norma/residual/policy/deep_norm.hpp>
#include <norma/residual/policy/post_ln.hpp>
#include <norma/residual/policy/pre_ln.hpp>
