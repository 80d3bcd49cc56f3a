// SPDX-License-Identifier: MIT
// Named systems that are decoders of tokens.
#include <norma/models/deep_net.hpp>
#include <norma/models/gemma2.hpp>
#include <norma/models/gemma3.hpp>
#include <norma/models/glm_130b.hpp>
#include <norma/models/gpt2.hpp>
#include <norma/models/gpt_j.hpp>
#include <norma/models/gpt_neox.hpp>
#include <norma/models/llama.hpp>
#include <norma/models/olmo2.hpp>
#include <norma/models/palm.hpp>
#include <norma/models/qwen3.hpp>

#include "golden_system.hpp"

namespace {

using golden::System;
namespace models = norma::models;

const System<models::GPT2> gpt2("GPT2");
const System<models::GPTJ> gpt_j("GPTJ");
const System<models::GPTNeoX> gpt_neox("GPTNeoX");
const System<models::PaLM> palm("PaLM");
const System<models::LLaMA> llama("LLaMA");
const System<models::GLM130B> glm_130b("GLM130B");
const System<models::Gemma2> gemma2("Gemma2");
const System<models::Gemma3> gemma3("Gemma3");
const System<models::OLMo2> olmo2("OLMo2");
const System<models::Qwen3> qwen3("Qwen3");
const System<models::DeepNet> deep_net("DeepNet");

}  // namespace
