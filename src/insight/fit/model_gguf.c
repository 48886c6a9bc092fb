/* SPDX-License-Identifier: Apache-2.0
 * The header of GGUF files, versions 2 and 3: metadata, and name, shape, type and place of each tensor. Reads no weights. Layout
 * after ggml's docs/gguf.md and llama.cpp's ggml/src/gguf.cpp (067d44f6c484); everything that a file claims is checked against the
 * file and against the limits below.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "insight/fit/model_size.h"

/* ---- numbers and texts from a file, through a window, with every length checked against the file ----
 * The first failure is kept with its place, and everything after it gives zeros. */

enum { GGUF_WINDOW = 1 << 16, GGUF_KEY_SIZE = 128 /* longer keys are none of ours */ };

struct gguf_reader {
    const struct model_input *in;
    struct model_facts *facts;
    struct error *err;
    uint64_t at, window_at;
    size_t window_len;
    uint64_t alignment;
    int failed;
    unsigned char window[GGUF_WINDOW];
};

static const uint64_t HEADER_MAX = (uint64_t)512 << 20; /* vocabularies are a few MiB */

/* Keeps the first failure; returns it. */
static int gguf_fail(struct gguf_reader *r, int code, const char *why)
{
    if (!r->failed)
        r->failed = error_set(r->err, code, "%s (at byte %llu)", why, (unsigned long long)r->at);
    return r->failed;
}

static bool gguf_reader_load(struct gguf_reader *r)
{
    ssize_t got = r->in->read(r->in->user, r->at, r->window, GGUF_WINDOW);
    if (got < 0)
        return gguf_fail(r, (int)got, strerror((int)-got)) == 0;
    r->window_at = r->at;
    r->window_len = (size_t)got;
    return got > 0 || gguf_fail(r, -ENODATA, "the file ends within its header") == 0;
}

static bool gguf_take(struct gguf_reader *r, void *to, size_t size)
{
    unsigned char *out = to;
    while (size && !r->failed) {
        if (r->at < r->window_at || r->at >= r->window_at + r->window_len) {
            if (!gguf_reader_load(r))
                return false;
            continue;
        }
        size_t from = (size_t)(r->at - r->window_at), n = MIN_OF(size, r->window_len - from);
        memcpy(out, r->window + from, n);
        out += n;
        r->at += n;
        size -= n;
    }
    return !r->failed;
}

static bool gguf_skip(struct gguf_reader *r, uint64_t size)
{
    if (r->failed)
        return false;
    if (size > r->in->size || r->at > r->in->size - size)
        return gguf_fail(r, -ENODATA, "the file ends within its header") == 0;
    r->at += size;
    if (r->at > HEADER_MAX)
        return gguf_fail(r, -EFBIG, "the header is larger than 512 MiB") == 0;
    return true;
}

/* Little-endian, of so many bytes. */
static uint64_t gguf_number(struct gguf_reader *r, size_t size)
{
    unsigned char raw[8] = {0};
    uint64_t value = 0;
    if (!gguf_take(r, raw, size))
        return 0;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | raw[i];
    return value;
}

/* A text into `to`, cut; the rest is passed over. */
static void gguf_text(struct gguf_reader *r, char *to, size_t size)
{
    uint64_t len = gguf_number(r, 8);
    size_t kept = (size_t)MIN_OF(len, (uint64_t)size - 1);
    char raw[GGUF_KEY_SIZE * 2];
    kept = MIN_OF(kept, sizeof raw);
    to[0] = '\0';
    if (r->failed || len > r->in->size) {
        gguf_fail(r, -EBADMSG, "a text is longer than the file");
        return;
    }
    if (gguf_take(r, raw, kept) && gguf_skip(r, len - kept))
        str_copy_clean(to, size, (struct str){raw, kept});
}

/* ---- block sizes of ggml's tensor types ---- */

/* As in llama.cpp's gguf-py/gguf/constants.py (GGML_QUANT_SIZES). Numbers that are missing belong to types that were taken back. */
static const struct gguf_type types[] = {
    [0] = {"f32", 1, 4},         [1] = {"f16", 1, 2},         [2] = {"q4_0", 32, 18},      [3] = {"q4_1", 32, 20},
    [6] = {"q5_0", 32, 22},      [7] = {"q5_1", 32, 24},      [8] = {"q8_0", 32, 34},      [9] = {"q8_1", 32, 40},
    [10] = {"q2_k", 256, 84},    [11] = {"q3_k", 256, 110},   [12] = {"q4_k", 256, 144},   [13] = {"q5_k", 256, 176},
    [14] = {"q6_k", 256, 210},   [15] = {"q8_k", 256, 292},   [16] = {"iq2_xxs", 256, 66}, [17] = {"iq2_xs", 256, 74},
    [18] = {"iq3_xxs", 256, 98}, [19] = {"iq1_s", 256, 50},   [20] = {"iq4_nl", 32, 18},   [21] = {"iq3_s", 256, 110},
    [22] = {"iq2_s", 256, 82},   [23] = {"iq4_xs", 256, 136}, [24] = {"i8", 1, 1},         [25] = {"i16", 1, 2},
    [26] = {"i32", 1, 4},        [27] = {"i64", 1, 8},        [28] = {"f64", 1, 8},        [29] = {"iq1_m", 256, 56},
    [30] = {"bf16", 1, 2},       [34] = {"tq1_0", 256, 54},   [35] = {"tq2_0", 256, 66},   [39] = {"mxfp4", 32, 17},
    [40] = {"nvfp4", 64, 36},
};

/* 41 and above are left out on purpose: forks use these numbers for types of their own. The place of the next tensor tells. */
const struct gguf_type *gguf_type_of(uint64_t type)
{
    return type < ARRAY_LEN(types) && types[type].name ? &types[type] : NULL;
}

const struct gguf_type *gguf_type_named(const char *name)
{
    return gguf_type_of(NAME_FIND(types, str_from(name)));
}

/* ---- the header ---- */

enum {
    KEYS_MAX = 1 << 16,
    TENSORS_MAX = 1 << 18,
    DIMENSIONS_MAX = 4,
    ALIGNMENT = 32,
};

enum gguf_value_type { U8, I8, U16, I16, U32, I32, F32, BOOL, TEXT, ARRAY, U64, I64, F64, VALUE_TYPES };
static const size_t value_size[VALUE_TYPES] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

struct tensor {
    uint64_t offset, bytes;
    int kind; /* TENSOR_*; >= 0: number of the layer */
    bool sized;
};
enum { TENSOR_OTHER = -1, TENSOR_INPUT = -2, TENSOR_TOKENS = -3, TENSOR_OUTPUT = -4 };

/* ---- values ---- */

static bool is_whole(uint64_t type)
{
    return type < VALUE_TYPES && value_size[type] && type != F32 && type != F64;
}

static int64_t whole_value(struct gguf_reader *r, uint64_t type)
{
    uint64_t raw = gguf_number(r, value_size[type]);
    switch (type) {
    case I8: return (int8_t)raw;
    case I16: return (int16_t)raw;
    case I32: return (int32_t)raw;
    default: return raw > INT64_MAX ? INT64_MAX : (int64_t)raw;
    }
}

static void pass_value(struct gguf_reader *r, uint64_t type)
{
    if (type == TEXT)
        gguf_skip(r, gguf_number(r, 8));
    else
        gguf_skip(r, value_size[type]);
}

/* An array, of which up to `max` whole numbers are kept; returns how many elements it has. */
static uint64_t array(struct gguf_reader *r, int64_t *kept, size_t max)
{
    uint64_t type = gguf_number(r, 4), count = gguf_number(r, 8);
    if (r->failed)
        return 0;
    if (type >= VALUE_TYPES || type == ARRAY) {
        gguf_fail(r, -EBADMSG, "a list has elements of an unknown type");
        return 0;
    }
    if (count > r->in->size) {
        gguf_fail(r, -EBADMSG, "a list is longer than the file");
        return 0;
    }
    for (uint64_t i = 0; i < count && i < max && is_whole(type) && !r->failed; i++)
        kept[i] = whole_value(r, type);
    uint64_t left = is_whole(type) ? count - MIN_OF(count, (uint64_t)max) : count;
    if (type != TEXT)
        gguf_skip(r, left * value_size[type]);
    for (; type == TEXT && left > 0 && !r->failed; left--)
        pass_value(r, TEXT);
    return is_whole(type) ? count : 0;
}

/* ---- metadata ---- */

/* A number, or a list with one for each layer: the largest counts, where no more is asked for. */
static struct reading numbers(struct gguf_reader *r, uint64_t type, int64_t *list, size_t *count)
{
    *count = 0;
    if (type == ARRAY) {
        uint64_t n = array(r, list, MODEL_LAYERS_MAX);
        *count = (size_t)MIN_OF(n, (uint64_t)MODEL_LAYERS_MAX);
        int64_t most = 0;
        for (size_t i = 0; i < *count; i++)
            most = MAX_OF(most, list[i]);
        return *count ? reading_ok(most) : reading_absent(READING_UNSUPPORTED);
    }
    if (is_whole(type))
        return reading_ok(whole_value(r, type));
    pass_value(r, type);
    return reading_absent(READING_UNSUPPORTED);
}

/* What follows the architecture's name in a key. */
static struct reading *field_of(struct model_facts *f, const char *key)
{
    const struct {
        const char *key;
        struct reading *to;
    } fields[] = {
        {"block_count", &f->layers},
        {"context_length", &f->context},
        {"embedding_length", &f->embedding},
        {"feed_forward_length", &f->feed_forward},
        {"vocab_size", &f->vocabulary},
        {"attention.head_count", &f->heads},
        {"attention.head_count_kv", &f->heads_kv},
        {"attention.key_length", &f->key_length},
        {"attention.value_length", &f->value_length},
        {"attention.key_length_mla", &f->latent}, /* its presence says that the cache is latent; see gguf_read() */
        {"attention.sliding_window", &f->window},
        {"attention.sliding_window_pattern", &f->window_every},
        {"expert_feed_forward_length", &f->expert_feed_forward},
        {"expert_used_count", &f->experts_used},
        {"ssm.conv_kernel", &f->state_conv},
        {"ssm.inner_size", &f->state_inner},
        {"ssm.state_size", &f->state_size},
        {"ssm.group_count", &f->state_groups},
    };
    size_t i = NAME_FIND(fields, str_from(key));
    return i < ARRAY_LEN(fields) ? fields[i].to : NULL;
}

static void keep_lists(struct model_facts *f, const struct reading *to, const int64_t *list, size_t count)
{
    if (to == &f->heads_kv) {
        f->heads_kv_count = count;
        for (size_t i = 0; i < count; i++)
            f->heads_kv_of[i] = (int32_t)MAX_OF(MIN_OF(list[i], (int64_t)INT32_MAX), (int64_t)0);
    } else if (to == &f->window_every && count) {
        f->windowed_count = count;
        f->window_every = reading_absent(READING_UNSUPPORTED);
        for (size_t i = 0; i < count; i++)
            f->windowed_of[i] = list[i] != 0;
    }
}

static void metadata(struct gguf_reader *r, bool first)
{
    char key[GGUF_KEY_SIZE];
    int64_t list[MODEL_LAYERS_MAX];
    size_t count;
    struct model_facts *f = r->facts;
    gguf_text(r, key, sizeof key);
    uint64_t type = gguf_number(r, 4);
    if (r->failed)
        return;
    if (type >= VALUE_TYPES) {
        gguf_fail(r, -EBADMSG, "a value has an unknown type");
        return;
    }
    const char *dot = strchr(key, '.');
    struct reading *to = dot && strncmp(key, "general.", 8) != 0 ? field_of(f, dot + 1) : NULL;
    struct reading scratch;
    if (type == TEXT && strcmp(key, "general.architecture") == 0 && first) {
        gguf_text(r, f->architecture, sizeof f->architecture);
    } else if (type == TEXT && strcmp(key, "general.name") == 0 && first) {
        gguf_text(r, f->name, sizeof f->name);
    } else if (type == ARRAY && strcmp(key, "tokenizer.ggml.tokens") == 0) {
        uint64_t element = gguf_number(r, 4), n = gguf_number(r, 8);
        if (element == TEXT && n <= r->in->size && first && f->vocabulary.state != READING_OK)
            f->vocabulary = reading_ok((int64_t)n);
        r->at -= 12;
        array(r, NULL, 0);
    } else if (is_whole(type) && strcmp(key, "general.alignment") == 0) {
        r->alignment = (uint64_t)whole_value(r, type);
        if (r->alignment == 0 || r->alignment > 1 << 20 || (r->alignment & (r->alignment - 1)))
            gguf_fail(r, -EBADMSG, "the alignment is not a power of two");
    } else if (is_whole(type) && strcmp(key, "split.count") == 0) {
        f->split_count = whole_value(r, type);
    } else if (is_whole(type) && strcmp(key, "split.no") == 0) {
        f->split_number = whole_value(r, type);
    } else if (to) {
        scratch = numbers(r, type, list, &count);
        if (first && !r->failed) {
            *to = scratch;
            keep_lists(f, to, list, count);
        }
    } else if (type == ARRAY) {
        array(r, NULL, 0);
    } else {
        pass_value(r, type);
    }
}

/* ---- tensors ---- */

static int model_gguf_kind_of(const char *name)
{
    struct str s = str_from(name), part;
    int64_t layer;
    if (str_starts(s, "blk.")) {
        s = (struct str){s.at + 4, s.len - 4};
        if (str_cut(&s, '.', &part) && str_to_i64(part, &layer) && layer >= 0 && layer < MODEL_LAYERS_MAX)
            return (int)layer;
        return TENSOR_OTHER;
    }
    if (strcmp(name, "token_embd.weight") == 0)
        return TENSOR_TOKENS;
    if (str_starts(s, "token_embd") || str_starts(s, "per_layer_token_embd") || str_starts(s, "position_embd") ||
        str_starts(s, "token_types"))
        return TENSOR_INPUT;
    return strcmp(name, "output.weight") == 0 ? TENSOR_OUTPUT : TENSOR_OTHER;
}

static void shape(struct gguf_reader *r, uint64_t *ret_row, uint64_t *ret_rows)
{
    uint64_t dimensions = gguf_number(r, 4);
    *ret_row = *ret_rows = 1;
    if (!r->failed && dimensions > DIMENSIONS_MAX)
        gguf_fail(r, -EBADMSG, "a tensor has more than 4 dimensions");
    for (uint64_t i = 0; i < dimensions && !r->failed; i++) {
        uint64_t n = gguf_number(r, 8), *to = i == 0 ? ret_row : ret_rows;
        if (__builtin_mul_overflow(*to, n, to) || *to > INT64_MAX)
            gguf_fail(r, -EBADMSG, "a tensor is larger than can be counted");
    }
}

static void read_tensor(struct gguf_reader *r, struct tensor *t)
{
    char name[GGUF_KEY_SIZE];
    uint64_t row, rows;
    gguf_text(r, name, sizeof name);
    shape(r, &row, &rows);
    uint64_t type = gguf_number(r, 4);
    t->offset = gguf_number(r, 8);
    t->kind = model_gguf_kind_of(name);
    if (r->failed)
        return;
    const struct gguf_type *known = gguf_type_of(type);
    if (!known)
        return; /* a type that came later: its place tells its size */
    uint64_t blocks;
    if (row % known->elements)
        gguf_fail(r, -EBADMSG, "a tensor's rows are not made of whole blocks");
    else if (__builtin_mul_overflow(row / known->elements, rows, &blocks) ||
             __builtin_mul_overflow(blocks, (uint64_t)known->bytes, &t->bytes) || t->bytes > (uint64_t)MODEL_BYTES_MAX)
        gguf_fail(r, -EBADMSG, "a tensor is larger than can be counted");
    t->sized = true;
}

static int by_offset(const void *a, const void *b)
{
    const struct tensor *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static void model_gguf_add(struct model_facts *f, const struct tensor *t)
{
    int64_t bytes = (int64_t)t->bytes;
    f->tensor_count++;
    f->tensor_bytes += bytes;
    if (t->kind >= 0) {
        f->layer_bytes[t->kind] += bytes;
        f->layers_seen = MAX_OF(f->layers_seen, (size_t)t->kind + 1);
    } else if (t->kind == TENSOR_INPUT || t->kind == TENSOR_TOKENS) {
        f->input_bytes += bytes;
        f->token_bytes += t->kind == TENSOR_TOKENS ? bytes : 0;
    } else if (t->kind == TENSOR_OUTPUT) {
        f->output_bytes += bytes;
        f->has_output = true;
    } else {
        f->other_bytes += bytes;
    }
}

/* Every tensor must lie within the file: a download that was cut short is found out here. */
static void count_tensors(struct gguf_reader *r, struct tensor *tensors, size_t count)
{
    uint64_t start = (r->at + r->alignment - 1) / r->alignment * r->alignment;
    uint64_t room = r->in->size > start ? r->in->size - start : 0;
    qsort(tensors, count, sizeof *tensors, by_offset);
    for (size_t i = 0; i < count; i++) {
        struct tensor *t = &tensors[i];
        uint64_t next = i + 1 < count ? tensors[i + 1].offset : room;
        if (!t->sized && next >= t->offset)
            t->bytes = next - t->offset;
        if (t->offset > room || t->bytes > room - t->offset) {
            r->failed = error_set(r->err, -ENODATA, "the file is cut short: its tensors need at least %llu bytes, it has %llu",
                                  (unsigned long long)(start + t->offset + t->bytes), (unsigned long long)r->in->size);
            return;
        }
        model_gguf_add(r->facts, t);
        if (r->facts->tensor_bytes > MODEL_BYTES_MAX) {
            gguf_fail(r, -EBADMSG, "the tensors are larger than can be counted");
            return;
        }
    }
}

static void read_tensors(struct gguf_reader *r, uint64_t count)
{
    AUTO_FREE struct tensor *tensors = calloc(count ? count : 1, sizeof *tensors);
    if (!tensors) {
        gguf_fail(r, -ENOMEM, "out of memory");
        return;
    }
    for (uint64_t i = 0; i < count && !r->failed; i++)
        read_tensor(r, &tensors[i]);
    if (!r->failed)
        count_tensors(r, tensors, count);
}

static void read_all(struct gguf_reader *r, bool first)
{
    char magic[4] = {0};
    gguf_take(r, magic, sizeof magic);
    if (!r->failed && memcmp(magic, "GGUF", 4) != 0) {
        r->failed = error_set(r->err, -EBADMSG, "this is not a GGUF file");
        return;
    }
    uint64_t version = gguf_number(r, 4), tensors = gguf_number(r, 8), keys = gguf_number(r, 8);
    if (r->failed)
        return;
    if ((version & 0xffff) == 0)
        gguf_fail(r, -EBADMSG, "the file is in big-endian order, which is not supported");
    else if (version < 2 || version > 3)
        gguf_fail(r, -EBADMSG, "the file's version of GGUF is not supported (2 and 3 are)");
    else if (tensors > TENSORS_MAX || keys > KEYS_MAX)
        gguf_fail(r, -EFBIG, "the file claims more tensors or keys than any model has");
    for (uint64_t i = 0; i < keys && !r->failed; i++)
        metadata(r, first);
    if (!r->failed)
        read_tensors(r, tensors);
}

int gguf_read(const struct model_input *in, struct model_facts *facts, struct error *err)
{
    AUTO_FREE struct gguf_reader *r = calloc(1, sizeof *r);
    if (!r)
        return error_set(err, -ENOMEM, "out of memory");
    bool first = facts->format == NULL;
    facts->format = "gguf";
    r->in = in;
    r->facts = facts;
    r->err = err;
    r->alignment = ALIGNMENT;
    read_all(r, first);
    /* llama.cpp keeps one vector of key_length for all heads, in which the values are contained. */
    if (first && facts->latent.state == READING_OK)
        facts->latent = facts->key_length;
    return r->failed;
}
