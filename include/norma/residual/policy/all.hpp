// SPDX-License-Identifier: MIT
// Every placement of the library.
#pragma once

#include <norma/residual/policy/admin.hpp>
#include <norma/residual/policy/b2t.hpp>
#include <norma/residual/policy/deep_norm.hpp>
#include <norma/residual/policy/dynamic_hyper_connections.hpp>
#include <norma/residual/policy/fixup.hpp>
#include <norma/residual/policy/gated_cross_attention.hpp>
#include <norma/residual/policy/glm_deep_norm.hpp>
#include <norma/residual/policy/hybrid_norm.hpp>
#include <norma/residual/policy/hyper_connections.hpp>
#include <norma/residual/policy/keel.hpp>
#include <norma/residual/policy/layer_norm_scaling.hpp>
#include <norma/residual/policy/layer_scale.hpp>
#include <norma/residual/policy/mix_ln.hpp>
#include <norma/residual/policy/ngpt.hpp>
#include <norma/residual/policy/norm_former.hpp>
#include <norma/residual/policy/output_norm.hpp>
#include <norma/residual/policy/peri_ln.hpp>
#include <norma/residual/policy/post_ln.hpp>
#include <norma/residual/policy/pre_ln.hpp>
#include <norma/residual/policy/pre_ln_per_branch.hpp>
#include <norma/residual/policy/re_zero.hpp>
#include <norma/residual/policy/resi_dual.hpp>
#include <norma/residual/policy/sandwich.hpp>
#include <norma/residual/policy/scaled_residual.hpp>
#include <norma/residual/policy/siamese_norm.hpp>
#include <norma/residual/policy/sub_ln.hpp>
#include <norma/residual/policy/t_fixup.hpp>
#include <norma/residual/policy/with_embedding_norm.hpp>
#include <norma/residual/policy/with_norm.hpp>
#include <norma/residual/policy/with_qk_norm.hpp>
