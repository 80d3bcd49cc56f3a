# SPDX-License-Identifier: MIT
"""Named systems that are more than decoders of tokens, as public packages run them: see systems.py."""
import torch
import transformers
from torch import nn

from golden import draw
from packages import EncoderDecoder, EncoderDecoderConfig
from systems import Sinusoids, system, token_ids


def config(kind, width, heads, layers, hidden, eps, **options):
    return kind(hidden_size=width, num_attention_heads=heads, num_hidden_layers=layers, intermediate_size=hidden,
                layer_norm_eps=eps, attn_implementation="eager", **options)


def as_bert(cls, vocabulary, positions, types, **members):
    return cls(config(transformers.BertConfig, vocab_size=vocabulary, max_position_embeddings=positions,
                      type_vocab_size=types, pad_token_id=None, **members))


def ids_and_types(seed, entry):
    ids = token_ids(seed, entry)["ids"]
    return {"ids": ids, "types": token_ids(seed + 1, entry)["ids"] % entry["members"]["types"]}


def mask(ids, lengths):
    return torch.arange(ids.shape[1]) < torch.tensor(lengths)[:, None]


SMALL = dict(width=15, heads=3, layers=2, hidden=21)
BERT = dict(**SMALL, vocabulary=11, positions=9, types=2, eps=1e-12)


@system("BERT", "transformers:BertModel", zero=("key.bias",), call=dict(lengths=(7, 4)),
        inputs=ids_and_types,
        forward=lambda model, ids, types, lengths: model["bert"](
            ids, token_type_ids=types, attention_mask=mask(ids, lengths)).pooler_output, **BERT)
def bert(**members):
    return nn.ModuleDict({"bert": as_bert(transformers.BertModel, **members)})


@system("BERTMaskedLM", "transformers:BertForMaskedLM", zero=("key.bias",), inputs=ids_and_types,
        forward=lambda model, ids, types: model(ids, token_type_ids=types).logits, **BERT)
def bert_masked_lm(**members):
    return as_bert(transformers.BertForMaskedLM, **members)


def images(seed, entry):
    members = entry["members"]
    return {"images": draw(seed, "images", (2, members["channels"], members["image"], members["image"]))}


@system("ViT", "transformers:ViTForImageClassification", zero=("key.bias",), inputs=images,
        forward=lambda model, images: model(images).logits, **SMALL, image=6, patch=3, channels=2, classes=4, eps=1e-6)
def vit(image, patch, channels, classes, **members):
    return transformers.ViTForImageClassification(config(
        transformers.ViTConfig, image_size=image, patch_size=patch, num_channels=channels, num_labels=classes,
        **members))


def ids_that_end(seed, entry):
    """The last of the vocabulary ends a text."""
    last = entry["members"]["vocabulary"] - 1
    ids = token_ids(seed, entry)["ids"] % last
    for text, length in zip(ids, entry["call"]["lengths"]):
        text[length - 1] = last
    return {"ids": ids}


@system("CLIPText", "transformers:CLIPTextModelWithProjection", zero=("key.bias", "k_proj.bias"), inputs=ids_that_end,
        call=dict(lengths=(4, 7)), forward=lambda model, ids, lengths: model(ids).text_embeds, **SMALL, vocabulary=11,
        positions=9, projection=5, eps=1e-5)
def clip_text(vocabulary, positions, projection, **members):
    return transformers.CLIPTextModelWithProjection(config(
        transformers.CLIPTextConfig, vocab_size=vocabulary, max_position_embeddings=positions,
        projection_dim=projection, bos_token_id=0, eos_token_id=vocabulary - 1, **members))


@system("CLIPVision", "transformers:CLIPVisionModelWithProjection", zero=("key.bias", "k_proj.bias"), inputs=images,
        forward=lambda model, images: model(images).image_embeds, **SMALL, image=6, patch=3, channels=2, projection=5,
        eps=1e-5)
def clip_vision(image, patch, channels, projection, **members):
    return transformers.CLIPVisionModelWithProjection(config(
        transformers.CLIPVisionConfig, image_size=image, patch_size=patch, num_channels=channels,
        projection_dim=projection, **members))


def memory(seed, entry):
    return {"memory": draw(seed, "memory", (2, 4, entry["members"]["memory_width"]))}


class Blip2Queries(nn.Module):
    """The part of Blip2Model that makes vectors of an image encoder's output."""

    def __init__(self, queries, options):
        super().__init__()
        self.query_tokens = nn.Parameter(torch.empty(1, queries, options.hidden_size))
        self.qformer = transformers.Blip2QFormerModel(options)

    def forward(self, memory):
        queries = self.query_tokens.expand(memory.shape[0], -1, -1)
        return self.qformer(query_embeds=queries, encoder_hidden_states=memory).last_hidden_state


@system("QFormer", "transformers:Blip2QFormerModel", zero=("key.bias",), inputs=memory,
        forward=lambda model, memory: model(memory), width=15, heads=3, layers=3, hidden=21, queries=5, memory_width=7,
        memory_every=2, eps=1e-12)
def q_former(queries, memory_width, memory_every, **members):
    return Blip2Queries(queries, config(
        transformers.Blip2QFormerConfig, encoder_hidden_size=memory_width, cross_attention_frequency=memory_every,
        vocab_size=2, **members))


def ids_and_memory(seed, entry):
    return {**token_ids(seed, entry), **memory(seed, entry)}


def idefics_logits(model, ids, memory):
    """One image, seen by all tokens."""
    return model(input_ids=ids, image_encoder_embeddings=memory[:, None], use_cache=False,
                 image_attention_mask=torch.ones(*ids.shape, 1)).logits


@system("VLMDecoder", "transformers:IdeficsForVisionText2Text", inputs=ids_and_memory, forward=idefics_logits, width=18,
        heads=3, layers=4, hidden=21, vocabulary=11, memory_width=7, memory_every=2)
def vlm_decoder(width, heads, layers, hidden, vocabulary, memory_width, memory_every):
    model = transformers.IdeficsForVisionText2Text(transformers.IdeficsConfig(
        hidden_size=width, num_attention_heads=heads, num_hidden_layers=layers, intermediate_size=hidden,
        vocab_size=vocabulary, cross_layer_interval=memory_every, pad_token_id=None, freeze_text_layers=False,
        attn_implementation="eager",
        vision_config=dict(embed_dim=memory_width, image_size=6, patch_size=3, num_hidden_layers=1,
                           num_attention_heads=1, intermediate_size=8)))
    model.model.vision_model = nn.Identity()  # what it would give is the memory
    return model


class TorchTransformer(nn.Module):
    """torch.nn.Transformer between an embedding and a head that are one; without its last norms, and without biases in
    attention, neither of which the paper has."""

    def __init__(self, width, heads, layers, hidden, vocabulary, eps):
        super().__init__()
        stacks = nn.Transformer(width, heads, layers, layers, hidden, dropout=0.0, layer_norm_eps=eps, batch_first=True)
        self.embedding = nn.Embedding(vocabulary, width)
        self.encoder, self.decoder = stacks.encoder, stacks.decoder
        self.encoder.norm = self.decoder.norm = None
        for stack in (self.encoder, self.decoder):
            for layer in stack.layers:
                for name in {"self_attn", "multihead_attn"} & dict(layer.named_children()).keys():
                    setattr(layer, name, nn.MultiheadAttention(width, heads, bias=False, batch_first=True))

    def forward(self, ids, source, memory_lengths):
        def embedded(ids):
            width = self.embedding.embedding_dim
            return self.embedding(ids) * width**0.5 + Sinusoids(width)(ids)

        padding = ~mask(source, memory_lengths)
        memory = self.encoder(embedded(source), src_key_padding_mask=padding)
        later = nn.Transformer.generate_square_subsequent_mask(ids.shape[1], dtype=memory.dtype)
        y = self.decoder(embedded(ids), memory, tgt_mask=later, memory_key_padding_mask=padding)
        return y @ self.embedding.weight.T


def ids_and_source(seed, entry):
    return {**token_ids(seed, entry), "source": token_ids(seed + 1, entry)["ids"][:, :5]}


@system("Transformer", "torch:nn.Transformer", inputs=ids_and_source, call=dict(memory_lengths=(5, 3)),
        forward=lambda model, **inputs: model(**inputs), **SMALL, vocabulary=11, eps=1e-6)
def transformer(**members):
    return TorchTransformer(**members)


# torchscale: computes the softmax in float32 whatever the module's type.


@system("DeepNetEncoderDecoder", "torchscale:architecture.encoder_decoder.EncoderDecoder(deepnorm=True)",
        zero=("key.bias", "k_proj.bias"), inputs=ids_and_source, forward=lambda model, ids, source: model(source, ids)[0],
        **SMALL, vocabulary=11)
def deep_net_encoder_decoder(width, heads, layers, hidden, vocabulary):
    options = EncoderDecoderConfig(
        encoder_embed_dim=width, encoder_attention_heads=heads, encoder_layers=layers, encoder_ffn_embed_dim=hidden,
        decoder_embed_dim=width, decoder_attention_heads=heads, decoder_layers=layers, decoder_ffn_embed_dim=hidden,
        vocab_size=vocabulary, deepnorm=True, activation_fn="relu", dropout=0.0, no_scale_embedding=False,
        share_all_embeddings=True)
    return EncoderDecoder(options, torch.nn.Embedding(vocabulary, width), Sinusoids(width), None, Sinusoids(width))
