/* SPDX-License-Identifier: Apache-2.0
 * The header of safetensors files: eight bytes of length, JSON with type, shape and place of each tensor. After the format's
 * README and safetensors/src/tensor.rs of huggingface/safetensors: sizes must agree with shapes, and places with the file.
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/fit/model_size.h"

enum { HEADER_MAX = 32 << 20, DIMENSIONS_MAX = 64 }; /* real headers are below 1 MiB */

static int64_t bits_of(const char *type)
{
    static const struct {
        const char *name;
        int bits;
    } types[] = {
        {"BOOL", 8},    {"U8", 8},      {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F4", 4},
        {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"I16", 16}, {"U16", 16},    {"F16", 16},    {"BF16", 16},   {"I32", 32},
        {"U32", 32},    {"F32", 32},    {"C64", 64}, {"F64", 64},    {"I64", 64},    {"U64", 64},
    };
    size_t i = NAME_FIND(types, str_from(type));
    return i < ARRAY_LEN(types) ? types[i].bits : 0;
}

/* "model.layers.12.mlp...", "transformer.h.3...": the number behind such a word; -1 elsewhere, and in towers for pictures. */
static int layer_of(const char *name)
{
    static const char *const words[] = {"layers", "h", "blocks", "block", "layer"};
    struct str rest = str_from(name), part, before = {0};
    if (strstr(name, "vision") || strstr(name, "visual") || strstr(name, "audio"))
        return -1;
    while (str_cut(&rest, '.', &part)) {
        int64_t number;
        for (size_t i = 0; before.len && i < ARRAY_LEN(words); i++)
            if (str_is(before, words[i]) && str_to_i64(part, &number) && number >= 0 && number < MODEL_LAYERS_MAX)
                return (int)number;
        before = part;
    }
    return -1;
}

static bool elements_of(const json_t *shape, int64_t *ret)
{
    int64_t n = 1;
    if (!json_is_array(shape) || json_array_size(shape) > DIMENSIONS_MAX)
        return false;
    for (size_t i = 0; i < json_array_size(shape); i++) {
        const json_t *side = json_array_get(shape, i);
        if (!json_is_integer(side) || json_integer_value(side) < 0 || __builtin_mul_overflow(n, json_integer_value(side), &n))
            return false;
    }
    *ret = n;
    return n <= INT64_MAX / 64;
}

static int add_tensor(struct model_facts *f, const char *name, const json_t *tensor, int64_t room, struct error *err)
{
    const char *type = json_string_value(json_object_get(tensor, "dtype"));
    const json_t *place = json_object_get(tensor, "data_offsets");
    const json_t *first = json_array_get(place, 0), *last = json_array_get(place, 1);
    int64_t elements, from = json_integer_value(first), to = json_integer_value(last), bits = bits_of(type);
    char clean[MODEL_TEXT_SIZE];
    str_copy_clean(clean, sizeof clean, str_from(name));
    if (!type || json_array_size(place) != 2 || !json_is_integer(first) || !json_is_integer(last) || from < 0 || to < from ||
        !elements_of(json_object_get(tensor, "shape"), &elements))
        return error_set(err, -EBADMSG, "the description of tensor '%s' is invalid", clean);
    if (to > room)
        return error_set(err, -ENODATA, "the file is cut short: tensor '%s' ends at byte %lld of its data, which has %lld", clean,
                         (long long)to, (long long)room);
    if (bits && (elements * bits + 7) / 8 != to - from)
        return error_set(err, -EBADMSG, "tensor '%s' has another size than its shape says", clean);
    int64_t bytes = to - from;
    int layer = layer_of(name);
    f->tensor_count++;
    f->tensor_bytes += bytes;
    if (layer >= 0) {
        f->layer_bytes[layer] += bytes;
        f->layers_seen = MAX_OF(f->layers_seen, (size_t)layer + 1);
    } else if (strstr(name, "embed_tokens") || strstr(name, "wte.")) {
        f->input_bytes += bytes;
    } else {
        f->other_bytes += bytes;
    }
    return f->tensor_bytes > MODEL_BYTES_MAX ? error_set(err, -EBADMSG, "the tensors are larger than can be counted") : 0;
}

/* The JSON between the length and the tensors. */
static int load_header(const struct model_input *in, json_t **ret, int64_t *ret_room, struct error *err)
{
    unsigned char raw[8];
    uint64_t len = 0;
    ssize_t got = in->read(in->user, 0, raw, sizeof raw);
    if (got < 0)
        return error_set(err, (int)got, "%s", strerror((int)-got));
    if (got != sizeof raw)
        return error_set(err, -EBADMSG, "this is not a safetensors file: it is too short");
    for (size_t i = sizeof raw; i-- > 0;)
        len = len << 8 | raw[i];
    if (len > HEADER_MAX)
        return error_set(err, -EFBIG, "this is not a safetensors file, or its header is larger than 32 MiB");
    if (len < 2 || len > in->size - sizeof raw)
        return error_set(err, -ENODATA, "the file is cut short: its header has %llu bytes, the file %llu", (unsigned long long)len,
                         (unsigned long long)in->size);
    AUTO_FREE char *text = malloc(len);
    if (!text)
        return error_set(err, -ENOMEM, "out of memory");
    for (uint64_t at = 0; at < len; at += (uint64_t)got) {
        got = in->read(in->user, sizeof raw + at, text + at, (size_t)(len - at));
        if (got <= 0)
            return error_set(err, got ? (int)got : -ENODATA, "the header cannot be read");
    }
    json_error_t why;
    *ret = text[0] == '{' ? json_loadb(text, len, JSON_REJECT_DUPLICATES, &why) : NULL;
    *ret_room = (int64_t)(in->size - sizeof raw - len);
    return json_is_object(*ret) ? 0 : error_set(err, -EBADMSG, "this is not a safetensors file: its header is not a JSON object");
}

int safetensors_read(const struct model_input *in, struct model_facts *facts, struct error *err)
{
    AUTO_JSON json_t *header = NULL;
    int64_t room;
    if (in->size < 8)
        return error_set(err, -EBADMSG, "this is not a safetensors file: it is too short");
    int rc = load_header(in, &header, &room, err);
    facts->format = "safetensors";
    const char *name;
    json_t *tensor;
    if (rc == 0)
        json_object_foreach(header, name, tensor) if (rc == 0 && strcmp(name, "__metadata__") != 0) rc =
            add_tensor(facts, name, tensor, room, err);
    return rc;
}

/* ---- config.json ---- */

static void model_safetensors_number(const json_t *config, const char *key, struct reading *to)
{
    const json_t *value = json_object_get(config, key);
    if (json_is_integer(value))
        *to = reading_ok(json_integer_value(value));
}

/* "layer_types": ["sliding_attention", "full_attention", ...]; layers of another kind keep no cache that grows. */
static void layer_types(const json_t *config, struct model_facts *f)
{
    const json_t *list = json_object_get(config, "layer_types");
    size_t count = MIN_OF(json_array_size(list), (size_t)MODEL_LAYERS_MAX);
    bool linear = false;
    for (size_t i = 0; i < count; i++) {
        const char *type = json_string_value(json_array_get(list, i));
        f->windowed_of[i] = type && (strcmp(type, "sliding_attention") == 0 || strcmp(type, "chunked_attention") == 0);
        f->heads_kv_of[i] = type && strcmp(type, "linear_attention") == 0 ? 0 : -1;
        linear = linear || f->heads_kv_of[i] == 0;
    }
    f->windowed_count = count;
    for (size_t i = 0; i < count && linear; i++)
        if (f->heads_kv_of[i] < 0)
            f->heads_kv_of[i] = (int32_t)MIN_OF(MAX_OF(reading_or(f->heads_kv, reading_or(f->heads, 0)), 0), 1 << 16);
    f->heads_kv_count = linear ? count : 0;
}

static void config_object(const json_t *config, struct model_facts *f)
{
    const struct {
        const char *key;
        struct reading *to;
    } fields[] = {
        {"n_layer", &f->layers},
        {"num_layers", &f->layers},
        {"num_hidden_layers", &f->layers},
        {"n_positions", &f->context},
        {"max_position_embeddings", &f->context},
        {"n_embd", &f->embedding},
        {"hidden_size", &f->embedding},
        {"intermediate_size", &f->feed_forward},
        {"vocab_size", &f->vocabulary},
        {"n_head", &f->heads},
        {"num_attention_heads", &f->heads},
        {"num_key_value_heads", &f->heads_kv},
        {"head_dim", &f->key_length},
        {"head_dim", &f->value_length},
        {"sliding_window", &f->window},
        {"sliding_window_pattern", &f->window_every},
        {"moe_intermediate_size", &f->expert_feed_forward},
        {"num_experts_per_tok", &f->experts_used},
    };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        model_safetensors_number(config, fields[i].key, fields[i].to);
    struct reading rank = {0}, rope = {0};
    model_safetensors_number(config, "kv_lora_rank", &rank);
    model_safetensors_number(config, "qk_rope_head_dim", &rope);
    if (rank.state == READING_OK && rope.state == READING_OK && rank.value > 0 && rope.value >= 0 && rank.value < 1 << 24 &&
        rope.value < 1 << 24)
        f->latent = reading_ok(rank.value + rope.value);
    if (json_is_false(json_object_get(config, "use_sliding_window")))
        f->window = reading_absent(READING_UNSUPPORTED);
    layer_types(config, f);
}

int model_config_read(struct str text, struct model_facts *facts, struct error *err)
{
    json_error_t why;
    AUTO_JSON json_t *config = json_loadb(text.at, text.len, 0, &why);
    if (!json_is_object(config))
        return error_set(err, -EBADMSG, "config.json is not a JSON object (line %d)", why.line);
    const char *type = json_string_value(json_object_get(config, "model_type"));
    str_copy_clean(facts->architecture, sizeof facts->architecture, str_from(type ? type : ""));
    config_object(config, facts);
    /* Models that see and hear keep the language part in an object of its own. */
    const json_t *inner = json_object_get(config, "text_config");
    if (json_is_object(inner))
        config_object(inner, facts);
    return 0;
}
