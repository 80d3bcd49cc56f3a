// SPDX-License-Identifier: MIT
#pragma once

#include <norma/models/system.hpp>
#include <norma/residual/policy/post_ln.hpp>
#include <norma/residual/policy/with_embedding_norm.hpp>

namespace norma::inline v0_1::inline NORMA_TARGET::models {

namespace detail {
/// What BERT's networks share, named as in transformers' BertForPreTraining, and in the authors' files.
inline constexpr std::array kBERTNames{
    Name{"embedding.weight", "bert.embeddings.word_embeddings.weight"},
    Name{"positions.weight", "bert.embeddings.position_embeddings.weight"},
    Name{"types.weight", "bert.embeddings.token_type_embeddings.weight"},
    Name{"open.gamma", "bert.embeddings.LayerNorm.weight"},
    Name{"open.beta", "bert.embeddings.LayerNorm.bias"},
    Name{"layers.*.attention.query.weight", "bert.encoder.layer.*.attention.self.query.weight"},
    Name{"layers.*.attention.query.bias", "bert.encoder.layer.*.attention.self.query.bias"},
    Name{"layers.*.attention.key.weight", "bert.encoder.layer.*.attention.self.key.weight"},
    Name{"layers.*.attention.key.bias", "bert.encoder.layer.*.attention.self.key.bias"},
    Name{"layers.*.attention.value.weight", "bert.encoder.layer.*.attention.self.value.weight"},
    Name{"layers.*.attention.value.bias", "bert.encoder.layer.*.attention.self.value.bias"},
    Name{"layers.*.attention.output.weight", "bert.encoder.layer.*.attention.output.dense.weight"},
    Name{"layers.*.attention.output.bias", "bert.encoder.layer.*.attention.output.dense.bias"},
    Name{"layers.*.attention.out.gamma", "bert.encoder.layer.*.attention.output.LayerNorm.weight"},
    Name{"layers.*.attention.out.beta", "bert.encoder.layer.*.attention.output.LayerNorm.bias"},
    Name{"layers.*.feed_forward.up.weight", "bert.encoder.layer.*.intermediate.dense.weight"},
    Name{"layers.*.feed_forward.up.bias", "bert.encoder.layer.*.intermediate.dense.bias"},
    Name{"layers.*.feed_forward.down.weight", "bert.encoder.layer.*.output.dense.weight"},
    Name{"layers.*.feed_forward.down.bias", "bert.encoder.layer.*.output.dense.bias"},
    Name{"layers.*.feed_forward.out.gamma", "bert.encoder.layer.*.output.LayerNorm.weight"},
    Name{"layers.*.feed_forward.out.beta", "bert.encoder.layer.*.output.LayerNorm.bias"},
    // The names of the norms in older files.
    Name{"open.gamma", "bert.embeddings.LayerNorm.gamma", Stored::copy},
    Name{"open.beta", "bert.embeddings.LayerNorm.beta", Stored::copy},
    Name{"layers.*.attention.out.gamma", "bert.encoder.layer.*.attention.output.LayerNorm.gamma", Stored::copy},
    Name{"layers.*.attention.out.beta", "bert.encoder.layer.*.attention.output.LayerNorm.beta", Stored::copy},
    Name{"layers.*.feed_forward.out.gamma", "bert.encoder.layer.*.output.LayerNorm.gamma", Stored::copy},
    Name{"layers.*.feed_forward.out.beta", "bert.encoder.layer.*.output.LayerNorm.beta", Stored::copy},
    Name{"", "bert.embeddings.position_ids"},
    Name{"", "cls.seq_relationship.**"},  // whether one sentence follows the other
    Name{"", "classifier.**"},            // heads of later training
    Name{"", "qa_outputs.**"},
};
inline constexpr std::array kBERTPooler{
    Name{"head.transform.weight", "bert.pooler.dense.weight"},
    Name{"head.transform.bias", "bert.pooler.dense.bias"},
};
inline constexpr std::array kBERTMaskedHead{
    Name{"head.transform.weight", "cls.predictions.transform.dense.weight"},
    Name{"head.transform.bias", "cls.predictions.transform.dense.bias"},
    Name{"head.norm.gamma", "cls.predictions.transform.LayerNorm.weight"},
    Name{"head.norm.gamma", "cls.predictions.transform.LayerNorm.gamma", Stored::copy},
    Name{"head.norm.beta", "cls.predictions.transform.LayerNorm.bias"},
    Name{"head.norm.beta", "cls.predictions.transform.LayerNorm.beta", Stored::copy},
    Name{"head.bias", "cls.predictions.bias"},
    Name{"head.bias", "cls.predictions.decoder.bias", Stored::copy},
    Name{"embedding.weight", "cls.predictions.decoder.weight", Stored::copy},
};
}  // namespace detail

/// BERT (Devlin et al., arXiv 1810.04805, section 3, and the authors' code): Post-LN with a norm on the embeddings,
/// learned positions, two segments (Tokens::types), GELU, eps 1e-12, dropout of attention, of every branch and of the
/// embeddings. Initial weights are normal, cut at two std of 0.02. It gives the pooled first token, tanh(W x + b);
/// `stream` and `hidden` have the other tokens. BERTMaskedLM has the head that it was trained with.
struct BERT {
  using Placement = WithEmbeddingNorm<PostLN>;
  Index width = 768, heads = 12;
  int layers = 12;
  Index hidden = 3072, vocabulary = 30522, positions = 512, types = 2;
  double dropout = 0.1, eps = 1e-12;

  static constexpr BERT base() { return {}; }
  static constexpr BERT large() { return {.width = 1024, .heads = 16, .layers = 24, .hidden = 4096}; }

  template <class T>
  LanguageModel<Block<Placement, T>> network() const {
    return with_head<T>({.reads = Reads::first_token,
                         .transform = HeadTransform{.activation = HeadTransform::Activation::tanh},
                         .outputs = 0},
                        false);
  }
  /// With another head, tied to the embedding or not: of classes, say.
  template <class T>
  LanguageModel<Block<Placement, T>> with_head(const Head& head, bool tied) const {
    return {{.width = width,
             .heads = heads,
             .hidden = hidden,
             .dropout = {.input = dropout, .branch = dropout, .attention = dropout}},
            layers,
            {.size = vocabulary,
             .tied = tied,
             .causal = false,
             .positions = {PositionTable::learned, positions},
             .types = types,
             .head = head},
            {},
            {.eps = eps}};
  }
  TruncatedNormal init() const { return {.std = 0.02, .scale_residual_outputs = false}; }

  static constexpr auto kNames =
      joined(joined(detail::kBERTNames, detail::kBERTPooler), passed_over(detail::kBERTMaskedHead));
};

/// BERT as it was trained, without the loss on pairs of sentences: BERTMaskedLM{BERT::large()}. Of every token GELU(W x
/// + b), normed, times the embedding, plus a bias. The targets of tokens that are not masked are -1.
struct BERTMaskedLM {
  BERT bert{};

  static constexpr BERTMaskedLM base() { return {}; }
  static constexpr BERTMaskedLM large() { return {BERT::large()}; }

  template <class T>
  auto network() const {
    return bert.with_head<T>(
        {.transform = HeadTransform{.activation = HeadTransform::Activation::gelu, .norm = true}, .bias = true}, true);
  }
  auto init() const { return bert.init(); }

  static constexpr auto kNames =
      joined(joined(detail::kBERTNames, detail::kBERTMaskedHead), passed_over(detail::kBERTPooler));
};

template <>
inline constexpr auto kSizes<BERT> = std::array{
    Size<BERT>{"base", BERT::base(), 109'482'240},
    Size<BERT>{"large", BERT::large(), 335'141'888},
};
template <>
inline constexpr auto kSizes<BERTMaskedLM> = std::array{
    Size<BERTMaskedLM>{"base", BERTMaskedLM::base(), 109'514'298},
    Size<BERTMaskedLM>{"large", BERTMaskedLM::large(), 335'174'458},
};

}  // namespace norma::inline v0_1::inline NORMA_TARGET::models
