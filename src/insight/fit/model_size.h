/* SPDX-License-Identifier: Apache-2.0
 * How much VRAM a model needs, from what its files say about themselves. Pure; docs/capacity.md has the formula.
 *
 *   gguf_read(), safetensors_read(), model_config_read() ──▶ model_facts ──▶ model_need() ──▶ placement
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"
#include "model/reading.h"

enum { MODEL_LAYERS_MAX = 1024, MODEL_TEXT_SIZE = 96, MODEL_NOTES_SIZE = 512 };

/* Where the bytes of a file come from. `read` gives at most `size` bytes at an offset; 0 at the end, -errno on failure. */
struct model_input {
    ssize_t (*read)(void *user, uint64_t at, void *to, size_t size);
    void *user;
    uint64_t size; /* of the file */
};

struct model_facts {
    const char *format; /* "gguf", "safetensors", "assumed" */
    char name[MODEL_TEXT_SIZE], architecture[MODEL_TEXT_SIZE];
    int64_t tensor_count, tensor_bytes;
    int64_t layer_bytes[MODEL_LAYERS_MAX]; /* by number of the layer */
    size_t layers_seen;                    /* one more than the largest number */
    int64_t input_bytes;                   /* embeddings: stay in host memory with llama.cpp */
    int64_t token_bytes;                   /* of these, the token embeddings, which serve as output where there is none */
    int64_t output_bytes, other_bytes;
    bool has_output;

    /* Metadata; absent where the files do not say it. */
    struct reading layers, context, embedding, feed_forward, vocabulary;
    struct reading heads, heads_kv, key_length, value_length;
    struct reading latent;               /* multi-head latent attention: one vector of this length for all heads */
    struct reading window, window_every; /* sliding window; one layer in so many sees everything */
    struct reading expert_feed_forward, experts_used;
    struct reading state_conv, state_inner, state_size, state_groups; /* state-space layers */
    size_t heads_kv_count, windowed_count;                            /* given layer by layer: so many */
    int32_t heads_kv_of[MODEL_LAYERS_MAX];
    bool windowed_of[MODEL_LAYERS_MAX];

    int64_t split_count, split_number; /* of a GGUF in parts; 0: whole */

    char assumed[256]; /* what model_assume() took for granted, in words; "" the files say it */
};

struct model_options {
    int64_t context;        /* tokens; -1: the default */
    const char *cache_type; /* "f16", "q8_0", ...; NULL: f16 */
    int64_t overhead_bytes; /* of each GPU: the driver's context */
};

/* Sums beyond a PiB are no model. */
#define MODEL_BYTES_MAX ((int64_t)1 << 50)

enum { MODEL_CONTEXT_DEFAULT = 4096, MODEL_CONTEXT_MAX = 1 << 27 };
#define MODEL_OVERHEAD_DEFAULT ((int64_t)640 << 20) /* an H200 takes 527 MiB for a context */

struct model_need {
    int64_t weight_bytes;                 /* on the GPUs */
    int64_t host_bytes;                   /* stay in host memory */
    int64_t context;                      /* tokens that were counted with */
    struct reading cache_bytes;           /* absent: the files do not say enough */
    struct reading compute_bytes;         /* of each GPU */
    int64_t overhead_bytes;               /* of each GPU */
    int64_t fixed_bytes;                  /* of each GPU: compute, as far as it is known, and overhead */
    int64_t layers[MODEL_LAYERS_MAX + 1]; /* weights and cache of each layer; behind them the output */
    size_t layer_count;
    int64_t bytes;                /* sum of `layers` */
    bool complete;                /* nothing is missing: `bytes` is an estimate, else only a lower bound */
    char notes[MODEL_NOTES_SIZE]; /* what was assumed or is missing, in words; "" nothing */
};

/* Bytes of `n` values in a cache of that type; -1: there is no such type. */
extern const char *const model_cache_types[]; /* NULL behind the last */

/* The facts of a model of which nothing is known but its size, like "70B": 4-bit weights in the layers of a well-known model.
 * False: the text is no number of billions of parameters. */
bool model_assume(struct str text, struct model_facts *facts);

void model_need(const struct model_facts *f, const struct model_options *options, struct model_need *n);

/* The header of a GGUF file, added to the facts: a model in parts is read part by part, the first one first. -EBADMSG and a
 * sentence when it is not one or makes no sense, -EFBIG when it passes a limit, -ENODATA when it is cut short. */
int gguf_read(const struct model_input *in, struct model_facts *facts, struct error *err);
/* The same for one safetensors file, and for the config.json beside it. */
int safetensors_read(const struct model_input *in, struct model_facts *facts, struct error *err);
int model_config_read(struct str text, struct model_facts *facts, struct error *err);

/* Block sizes of ggml's tensor types. */
struct gguf_type {
    const char *name;         /* NULL: no such type */
    uint16_t elements, bytes; /* of a block */
};

/* NULL: unknown here. */
const struct gguf_type *gguf_type_of(uint64_t type);
const struct gguf_type *gguf_type_named(const char *name);
