// SPDX-License-Identifier: MIT
// Named systems that are decoders of tokens.
#include <norma/models/gpt2.hpp>

#include "golden_system.hpp"

namespace {

using golden::System;

const System<norma::models::GPT2> gpt2("GPT2");

}  // namespace
