// SPDX-License-Identifier: MIT
// Named systems that are more than decoders of tokens.
#include <norma/models/bert.hpp>
#include <norma/models/clip.hpp>
#include <norma/models/deep_net_encoder_decoder.hpp>
#include <norma/models/q_former.hpp>
#include <norma/models/transformer.hpp>
#include <norma/models/vit.hpp>
#include <norma/models/vlm_decoder.hpp>

#include "golden_system.hpp"

namespace {

using golden::System;
namespace models = norma::models;

const System<models::Transformer> transformer("Transformer");
const System<models::DeepNetEncoderDecoder> deep_net_encoder_decoder("DeepNetEncoderDecoder");
const System<models::BERT> bert("BERT");
const System<models::BERTMaskedLM> bert_masked_lm("BERTMaskedLM", [](const golden::Options& options) {
  return models::BERTMaskedLM{golden::system<models::BERT>(options)};
});
const System<models::ViT> vit("ViT");
const System<models::CLIPText> clip_text("CLIPText");
const System<models::CLIPVision> clip_vision("CLIPVision");
const System<models::QFormer> q_former("QFormer");
const System<models::VLMDecoder> vlm_decoder("VLMDecoder");

}  // namespace
