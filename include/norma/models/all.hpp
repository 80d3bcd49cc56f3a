// SPDX-License-Identifier: MIT
// Every named system.
#pragma once

#include <norma/models/bert.hpp>
#include <norma/models/clip.hpp>
#include <norma/models/cog_view.hpp>
#include <norma/models/deep_net.hpp>
#include <norma/models/deep_net_encoder_decoder.hpp>
#include <norma/models/gemma2.hpp>
#include <norma/models/gemma3.hpp>
#include <norma/models/glm_130b.hpp>
#include <norma/models/gpt2.hpp>
#include <norma/models/gpt3.hpp>
#include <norma/models/gpt_j.hpp>
#include <norma/models/gpt_neox.hpp>
#include <norma/models/llama.hpp>
#include <norma/models/olmo2.hpp>
#include <norma/models/palm.hpp>
#include <norma/models/q_former.hpp>
#include <norma/models/qwen3.hpp>
#include <norma/models/transformer.hpp>
#include <norma/models/vit.hpp>
#include <norma/models/vlm_decoder.hpp>
