// SPDX-License-Identifier: MIT
// Everything: #include <norma/norma.hpp>
#pragma once

#include <norma/block/block.hpp>
#include <norma/block/encoder_decoder.hpp>
#include <norma/block/layers.hpp>
#include <norma/block/model.hpp>
#include <norma/block/sequence_to_sequence.hpp>
#include <norma/block/stack.hpp>
#include <norma/block/standalone.hpp>
#include <norma/norm/derf.hpp>
#include <norma/norm/dy_t.hpp>
#include <norma/norm/identity.hpp>
#include <norma/norm/layer_norm.hpp>
#include <norma/norm/rms_norm.hpp>
#include <norma/norm/scale_norm.hpp>
#include <norma/residual/combine.hpp>
#include <norma/residual/policy/all.hpp>
