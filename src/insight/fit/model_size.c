/* SPDX-License-Identifier: Apache-2.0
 * Weights, cache, buffers. What the files do not say is not guessed: the estimate then is a lower bound, and says so.
 */
#include "insight/fit/model_size.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/facts/words.h"

enum { BATCH = 512 /* tokens at once: llama.cpp's n_ubatch */, PAD = 256, NUMBER_MAX = 1 << 24 };

const char *const model_cache_types[] = {"f16", "q8_0", "q4_0", "bf16", "f32", "q4_1", "q5_0", "q5_1", "iq4_nl", NULL};

static int64_t model_cache_bytes(const char *type, int64_t n)
{
    const struct gguf_type *t = type && NAME_IN(model_cache_types, str_from(type)) ? gguf_type_named(type) : NULL;
    return t ? (n + t->elements - 1) / t->elements * t->bytes : -1;
}

/* A number of the metadata that a model can have. */
static bool sane(struct reading r, int64_t *ret)
{
    return reading_get(r, ret) && *ret > 0 && *ret <= NUMBER_MAX;
}

static size_t layers_of(const struct model_facts *f)
{
    int64_t layers = 0;
    if (!sane(f->layers, &layers) || layers > MODEL_LAYERS_MAX)
        layers = 0;
    return MAX_OF((size_t)layers, f->layers_seen);
}

/* ---- cache ---- */

/* Which layer sees everything is not always in the file: llama.cpp's own table (set_swa_pattern of src/llama-model.cpp). */
static void window_pattern(const struct model_facts *f, int64_t *window, int64_t *every, bool *first)
{
    static const struct {
        const char *architecture;
        int every, window;
        bool first;
    } known[] = {
        {"gemma2", 2, 4096, false}, {"gemma3", 6, 0, false},    {"gemma3n", 5, 0, false}, {"cohere2", 4, 0, false},
        {"gpt-oss", 2, 0, false},   {"llama4", 4, 8192, false}, {"exaone4", 4, 0, false}, {"smallthinker", 4, 0, true},
    };
    *every = 0;
    *first = false;
    if (!sane(f->window, window))
        *window = 0;
    size_t i = NAME_FIND(known, str_from(f->architecture));
    if (i < ARRAY_LEN(known)) {
        *every = known[i].every;
        *first = known[i].first;
        if (f->window.state != READING_OK)
            *window = known[i].window;
    }
    sane(f->window_every, every);
}

static bool is_windowed(const struct model_facts *f, size_t layer, int64_t every, bool first)
{
    if (layer < f->windowed_count)
        return f->windowed_of[layer];
    if (every <= 1)
        return false;
    return first ? layer % (size_t)every != 0 : layer % (size_t)every != (size_t)every - 1;
}

static int64_t padded(int64_t tokens)
{
    return (tokens + PAD - 1) / PAD * PAD;
}

/* Two states of floats, whatever the context: (conv - 1) * (inner + 2 groups * state) and state * inner. */
static int64_t state_bytes(const struct model_facts *f)
{
    int64_t conv, inner, state, groups = 0;
    if (!sane(f->state_conv, &conv) || !sane(f->state_inner, &inner) || !sane(f->state_size, &state) || conv > 64 ||
        inner > 1 << 20 || state > 1 << 16)
        return 0;
    sane(f->state_groups, &groups);
    return 4 * ((conv - 1) * (inner + 2 * MIN_OF(groups, (int64_t)1024) * state) + state * inner);
}

struct cache {
    int64_t heads_kv, key, value, latent; /* of one layer */
    int64_t window, every;
    bool first;
    int64_t state;
};

static bool cache_shape(const struct model_facts *f, struct cache *c)
{
    int64_t heads = 0, embedding = 0;
    *c = (struct cache){.state = state_bytes(f)};
    window_pattern(f, &c->window, &c->every, &c->first);
    bool attention = sane(f->heads, &heads);
    if (!sane(f->heads_kv, &c->heads_kv))
        c->heads_kv = heads;
    sane(f->embedding, &embedding);
    if (!sane(f->key_length, &c->key))
        c->key = heads ? embedding / heads : 0;
    if (!sane(f->value_length, &c->value))
        c->value = heads ? embedding / heads : 0;
    sane(f->latent, &c->latent);
    if (c->heads_kv > 1 << 12 || c->key > 1 << 16 || c->value > 1 << 16 || c->latent > 1 << 20)
        return false;
    if (!attention)
        return c->state > 0; /* only states, or nothing is known */
    return c->latent > 0 || (c->key > 0 && c->value > 0);
}

static bool has_no_cache(const struct model_facts *f)
{
    static const char *const encoders[] = {"bert",         "nomic-bert",      "nomic-bert-moe", "jina-bert-v2",
                                           "jina-bert-v3", "neo-bert",        "modern-bert",    "t5encoder",
                                           "clip",         "gemma-embedding", "roberta",        "xlm-roberta"};
    return NAME_IN(encoders, str_from(f->architecture));
}

static int64_t cache_of_layer(const struct model_facts *f, const struct cache *c, size_t layer, int64_t context, const char *type)
{
    int64_t heads_kv = layer < f->heads_kv_count ? MIN_OF(f->heads_kv_of[layer], 1 << 12) : c->heads_kv;
    int64_t tokens = padded(context);
    if (c->window && is_windowed(f, layer, c->every, c->first))
        tokens = padded(MIN_OF(context, c->window + BATCH));
    int64_t bytes = heads_kv == 0 || f->heads_kv_count == 0 ? c->state : 0;
    if (heads_kv == 0)
        return bytes;
    if (c->latent)
        return bytes + model_cache_bytes(type, c->latent * tokens);
    return bytes + model_cache_bytes(type, heads_kv * c->key * tokens) + model_cache_bytes(type, heads_kv * c->value * tokens);
}

static void add_cache(const struct model_facts *f, const char *type, struct model_need *n, struct text *notes)
{
    struct cache c;
    if (n->context == 0 || has_no_cache(f)) {
        n->cache_bytes = reading_ok(0);
        return;
    }
    if (!cache_shape(f, &c) || layers_of(f) == 0) {
        n->complete = false;
        text_append(notes, "%sthe files don't say how large the context's cache is (--context 0 leaves it out)",
                    notes->len ? "; " : "");
        return;
    }
    int64_t sum = 0;
    for (size_t i = 0; i < layers_of(f) && sum <= MODEL_BYTES_MAX; i++)
        sum += MIN_OF(cache_of_layer(f, &c, i, n->context, type), MODEL_BYTES_MAX);
    if (sum > MODEL_BYTES_MAX) {
        n->complete = false;
        text_append(notes, "%sthe cache for the context is larger than can be counted", notes->len ? "; " : "");
        return;
    }
    for (size_t i = 0; i < layers_of(f); i++)
        n->layers[i] += cache_of_layer(f, &c, i, n->context, type);
    n->cache_bytes = reading_ok(sum);
    if (c.window && !f->windowed_count && c.every <= 1)
        text_append(notes, "%sthe sliding window is ignored, since the file doesn't say which layers have it",
                    notes->len ? "; " : "");
}

/* ---- the rest ---- */

static void add_compute(const struct model_facts *f, struct model_need *n, struct text *notes)
{
    int64_t vocabulary = 0, embedding = 0, feed_forward = 0, expert = 0, experts = 0;
    sane(f->vocabulary, &vocabulary);
    sane(f->feed_forward, &feed_forward);
    if (sane(f->expert_feed_forward, &expert) && sane(f->experts_used, &experts) && experts <= 1024)
        feed_forward = MAX_OF(feed_forward, expert * experts);
    if (!sane(f->embedding, &embedding)) {
        n->complete = n->complete && n->context == 0;
        text_append(notes, "%scompute buffers are not counted: the files don't say how wide the model is", notes->len ? "; " : "");
        return;
    }
    n->compute_bytes = reading_ok(4 * BATCH * (vocabulary + 2 * embedding + 2 * feed_forward + padded(n->context)));
}

static int64_t choose_context(const struct model_facts *f, int64_t wanted)
{
    int64_t most;
    if (wanted >= 0)
        return MIN_OF(wanted, (int64_t)MODEL_CONTEXT_MAX);
    return sane(f->context, &most) ? MIN_OF(most, (int64_t)MODEL_CONTEXT_DEFAULT) : MODEL_CONTEXT_DEFAULT;
}

void model_need(const struct model_facts *f, const struct model_options *options, struct model_need *n)
{
    const char *type = options->cache_type ? options->cache_type : "f16";
    bool gguf = f->format && strcmp(f->format, "gguf") == 0;
    size_t layers = layers_of(f);
    int64_t most;
    *n = (struct model_need){
        .complete = true, .context = choose_context(f, options->context), .overhead_bytes = options->overhead_bytes};
    struct text notes = TEXT(n->notes);
    text_append(&notes, "%s", f->assumed);
    for (size_t i = 0; i < layers; i++)
        n->layers[i] = f->layer_bytes[i];
    n->layer_count = layers + 1;
    n->layers[layers] = f->output_bytes + f->other_bytes;
    if (!gguf)
        n->layers[0] += f->input_bytes;
    else if (!f->has_output)
        n->layers[layers] += f->token_bytes; /* the embeddings serve as output: a second copy, on the GPU */
    n->host_bytes = gguf ? f->input_bytes : 0;
    for (size_t i = 0; i < n->layer_count; i++)
        n->weight_bytes += n->layers[i];
    add_cache(f, type, n, &notes);
    add_compute(f, n, &notes);
    if (sane(f->context, &most) && n->context > most)
        text_append(&notes, "%sthe model was made for %lld tokens", notes.len ? "; " : "", (long long)most);
    for (size_t i = 0; i < n->layer_count; i++)
        n->bytes += n->layers[i];
    n->fixed_bytes = n->overhead_bytes + reading_or(n->compute_bytes, 0);
}

/* ---- a model of which only the size is known ---- */

/* From the config.json published with each. */
static const struct shape {
    const char *name;
    double billions;
    int layers, width, feed_forward, heads, heads_kv, key, vocabulary;
} shapes[] = {
    {"Llama 3.2 1B", 1.24, 16, 2048, 8192, 32, 8, 64, 128256},
    {"Llama 3.2 3B", 3.21, 28, 3072, 8192, 24, 8, 128, 128256},
    {"Llama 3.1 8B", 8.03, 32, 4096, 14336, 32, 8, 128, 128256},
    {"Qwen2.5 14B", 14.8, 48, 5120, 13824, 40, 8, 128, 152064},
    {"Qwen2.5 32B", 32.8, 64, 5120, 27648, 40, 8, 128, 152064},
    {"Llama 3.1 70B", 70.6, 80, 8192, 28672, 64, 8, 128, 128256},
    {"Mistral Large 123B", 123, 88, 12288, 28672, 96, 8, 128, 32768},
    {"Llama 3.1 405B", 405, 126, 16384, 53248, 128, 8, 128, 128256},
};

/* A file of llama.cpp's Q4_K_M and Q8_0 takes this many bytes for a billion parameters. */
#define BYTES_OF_4_BITS (4.85e9 / 8)
#define BYTES_OF_8_BITS (8.5e9 / 8)
#define BYTES_OF_16_BITS (16e9 / 8)

enum { BILLIONS_MAX = 100000 };

bool model_assume(struct str text, struct model_facts *f)
{
    struct str number = str_trim(text);
    const struct shape *like = shapes;
    double billions = 0;
    if (!number.len || (number.at[number.len - 1] | 0x20) != 'b')
        return false;
    number.len--;
    if (!str_to_double(number, &billions) || !(billions >= 0.01 && billions <= BILLIONS_MAX))
        return false;
    for (size_t i = 1; i < ARRAY_LEN(shapes); i++)
        if (fabs(log(shapes[i].billions / billions)) < fabs(log(like->billions / billions)))
            like = &shapes[i];
    *f = (struct model_facts){.format = "assumed",
                              .tensor_bytes = (int64_t)(billions * BYTES_OF_4_BITS),
                              .layers_seen = (size_t)like->layers,
                              .layers = reading_ok(like->layers),
                              .embedding = reading_ok(like->width),
                              .feed_forward = reading_ok(like->feed_forward),
                              .vocabulary = reading_ok(like->vocabulary),
                              .heads = reading_ok(like->heads),
                              .heads_kv = reading_ok(like->heads_kv),
                              .key_length = reading_ok(like->key),
                              .value_length = reading_ok(like->key)};
    for (size_t i = 0; i < f->layers_seen; i++)
        f->layer_bytes[i] = f->tensor_bytes / like->layers;
    str_copy(f->name, sizeof f->name, text);
    char eight[WORDS_SIZE], sixteen[WORDS_SIZE];
    words_bytes((int64_t)(billions * BYTES_OF_8_BITS), eight);
    words_bytes((int64_t)(billions * BYTES_OF_16_BITS), sixteen);
    snprintf(
        f->assumed, sizeof f->assumed,
        "assumed 4-bit weights (Q4_K_M) and the layers of %s; 8-bit weights take %s, 16-bit weights %s; name the model's file to "
        "be exact",
        like->name, eight, sixteen);
    return true;
}
