/* SPDX-License-Identifier: Apache-2.0
 * Files made by hand, byte by byte. GGUF after ggml's docs/gguf.md and llama.cpp's ggml/src/gguf.cpp (067d44f6c484), sizes of types
 * after its gguf-py/gguf/constants.py, caches after its src/llama-kv-cache-iswa.cpp (02c28f533ebb) and src/llama-hparams.cpp
 * (01b77b579398); safetensors after the README and safetensors/src/tensor.rs of huggingface/safetensors. Sizes that llama.cpp
 * prints for known models are the oracle.
 */
#include "insight/fit/model_size.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "gguf_writer.h"
#include "test.h"

struct memory {
    const char *at;
    size_t len;
};

static ssize_t read_memory(void *user, uint64_t at, void *to, size_t size)
{
    const struct memory *m = user;
    if (at >= m->len)
        return 0;
    size_t n = MIN_OF(size, m->len - (size_t)at);
    n = MIN_OF(n, (size_t)1000); /* short reads are normal */
    memcpy(to, m->at + at, n);
    return (ssize_t)n;
}

static int read_gguf(struct buf *file, uint64_t size, struct model_facts *facts, struct error *err)
{
    struct memory m = {file->at, file->len};
    return gguf_read(&(struct model_input){read_memory, &m, size}, facts, err);
}

static struct model_facts *facts_new(void)
{
    struct model_facts *f = calloc(1, sizeof *f);
    assert_non_null(f);
    return f;
}

/* Llama 3.1 8B in Q8_0, two layers of tensors of the 32. */
static struct gguf_writer llama(void)
{
    struct gguf_writer w = GGUF_WRITER;
    g_text(&w, "general.architecture", "llama");
    g_text(&w, "general.name", "Llama 3.1 8B");
    g_u32(&w, "llama.block_count", 32);
    g_u32(&w, "llama.context_length", 131072);
    g_u32(&w, "llama.embedding_length", 4096);
    g_u32(&w, "llama.feed_forward_length", 14336);
    g_u32(&w, "llama.attention.head_count", 32);
    g_u32(&w, "llama.attention.head_count_kv", 8);
    g_words(&w, "tokenizer.ggml.tokens", 128256);
    g_tensor(&w, "token_embd.weight", G_Q8_0_TENSOR, 4096, 128256, (uint64_t)4096 / 32 * 34 * 128256);
    for (int i = 0; i < 32; i++) {
        char name[48];
        snprintf(name, sizeof name, "blk.%d.ffn_down.weight", i);
        g_tensor(&w, name, G_Q8_0_TENSOR, 14336, 4096, (uint64_t)14336 / 32 * 34 * 4096);
    }
    g_tensor(&w, "output_norm.weight", G_F32_TENSOR, 4096, 1, 16384);
    g_tensor(&w, "output.weight", G_Q8_0_TENSOR, 4096, 128256, (uint64_t)4096 / 32 * 34 * 128256);
    return w;
}

static void a_gguf_tells_its_weights_layer_by_layer(void **state)
{
    (void)state;
    struct gguf_writer w = llama();
    uint64_t size;
    AUTO_BUF struct buf file = g_finish(&w, &size);
    AUTO_FREE struct model_facts *f = facts_new();
    struct error err = {0};
    assert_int_equal(read_gguf(&file, size, f, &err), 0);
    assert_string_equal(f->format, "gguf");
    assert_string_equal(f->architecture, "llama");
    assert_string_equal(f->name, "Llama 3.1 8B");
    assert_int_equal(f->tensor_count, 35);
    assert_int_equal(f->layers_seen, 32);
    assert_true(f->layer_bytes[31] == (int64_t)14336 / 32 * 34 * 4096);
    assert_true(f->input_bytes == (int64_t)4096 / 32 * 34 * 128256);
    assert_true(f->has_output);
    assert_int_equal(f->vocabulary.value, 128256);
    assert_int_equal(f->heads_kv.value, 8);
}

static void the_cache_has_the_size_that_llama_cpp_prints(void **state)
{
    (void)state;
    struct gguf_writer w = llama();
    uint64_t size;
    AUTO_BUF struct buf file = g_finish(&w, &size);
    AUTO_FREE struct model_facts *f = facts_new();
    AUTO_FREE struct model_need *n = calloc(1, sizeof *n);
    struct error err = {0};
    assert_int_equal(read_gguf(&file, size, f, &err), 0);
    model_need(f, &(struct model_options){.context = 8192, .overhead_bytes = 512 * MIB_BYTES}, n);
    assert_true(n->complete);
    assert_true(n->cache_bytes.value == 1024 * MIB_BYTES); /* KV self size = 1024.00 MiB */
    assert_int_equal(n->layer_count, 33);
    assert_true(n->host_bytes == f->input_bytes);
    assert_true(n->weight_bytes == f->tensor_bytes - f->input_bytes);
    assert_true(n->bytes == n->weight_bytes + 1024 * MIB_BYTES);
    /* llama.cpp: compute buffer 258.5 MiB with flash attention; ours is above it, but not by much. */
    assert_true(n->compute_bytes.value > 258 * MIB_BYTES && n->compute_bytes.value < 400 * MIB_BYTES);
    assert_string_equal(n->notes, "");
    model_need(f, &(struct model_options){.context = 8192, .cache_type = "q8_0"}, n);
    assert_true(n->cache_bytes.value == 544 * MIB_BYTES);
    model_need(f, &(struct model_options){.context = 8192, .cache_type = "q4_0"}, n);
    assert_true(n->cache_bytes.value == 288 * MIB_BYTES);
    model_need(f, &(struct model_options){.context = -1}, n);
    assert_int_equal(n->context, 4096);
    assert_true(n->cache_bytes.value == 512 * MIB_BYTES);
    model_need(f, &(struct model_options){.context = 200000}, n);
    assert_non_null(strstr(n->notes, "made for 131072 tokens"));
}

static void tied_embeddings_are_counted_once_more_on_the_gpu(void **state)
{
    (void)state;
    struct gguf_writer w = GGUF_WRITER;
    g_text(&w, "general.architecture", "llama");
    g_tensor(&w, "token_embd.weight", G_F16_TENSOR, 1024, 1024, 2 * MIB_BYTES);
    g_tensor(&w, "blk.0.attn_q.weight", G_F16_TENSOR, 1024, 512, MIB_BYTES);
    uint64_t size;
    AUTO_BUF struct buf file = g_finish(&w, &size);
    AUTO_FREE struct model_facts *f = facts_new();
    AUTO_FREE struct model_need *n = calloc(1, sizeof *n);
    struct error err = {0};
    assert_int_equal(read_gguf(&file, size, f, &err), 0);
    model_need(f, &(struct model_options){.context = 0}, n);
    assert_true(n->weight_bytes == 3 * MIB_BYTES);
    assert_true(n->host_bytes == 2 * MIB_BYTES);
}

static void without_metadata_the_answer_is_only_a_lower_bound(void **state)
{
    (void)state;
    struct gguf_writer w = GGUF_WRITER;
    g_tensor(&w, "blk.0.attn_q.weight", G_F16_TENSOR, 1024, 512, MIB_BYTES);
    uint64_t size;
    AUTO_BUF struct buf file = g_finish(&w, &size);
    AUTO_FREE struct model_facts *f = facts_new();
    AUTO_FREE struct model_need *n = calloc(1, sizeof *n);
    struct error err = {0};
    assert_int_equal(read_gguf(&file, size, f, &err), 0);
    model_need(f, &(struct model_options){.context = 4096}, n);
    assert_false(n->complete);
    assert_int_not_equal(n->cache_bytes.state, READING_OK);
    assert_non_null(strstr(n->notes, "don't say how large the context's cache"));
    model_need(f, &(struct model_options){.context = 0}, n);
    assert_true(n->complete);
    assert_int_equal(n->cache_bytes.value, 0);
}

static int64_t cache_of(struct gguf_writer w, int64_t context)
{
    g_tensor(&w, "blk.0.x.weight", G_F16_TENSOR, 1024, 512, MIB_BYTES);
    uint64_t size;
    AUTO_BUF struct buf file = g_finish(&w, &size);
    AUTO_FREE struct model_facts *f = facts_new();
    AUTO_FREE struct model_need *n = calloc(1, sizeof *n);
    struct error err = {0};
    assert_int_equal(read_gguf(&file, size, f, &err), 0);
    model_need(f, &(struct model_options){.context = context}, n);
    assert_int_equal(n->cache_bytes.state, READING_OK);
    return n->cache_bytes.value;
}

static void sliding_windows_need_less(void **state)
{
    (void)state;
    struct gguf_writer w = GGUF_WRITER; /* Gemma 3 27B: 62 layers, 16 heads of 128, window 1024, one full layer in six */
    g_text(&w, "general.architecture", "gemma3");
    g_u32(&w, "gemma3.block_count", 62);
    g_u32(&w, "gemma3.embedding_length", 5376);
    g_u32(&w, "gemma3.attention.head_count", 32);
    g_u32(&w, "gemma3.attention.head_count_kv", 16);
    g_u32(&w, "gemma3.attention.key_length", 128);
    g_u32(&w, "gemma3.attention.value_length", 128);
    g_u32(&w, "gemma3.attention.sliding_window", 1024);
    int64_t token = 16 * (128 + 128) * 2;
    assert_true(cache_of(w, 32768) == token * (10 * 32768 + 52 * 1536)); /* 1024 + 512, to a multiple of 256 */
    /* A pattern in the file wins; a list names the layers one by one. */
    w = GGUF_WRITER;
    g_text(&w, "general.architecture", "other");
    g_u32(&w, "other.block_count", 4);
    g_u32(&w, "other.embedding_length", 1024);
    g_u32(&w, "other.attention.head_count", 8);
    g_u32(&w, "other.attention.sliding_window", 512);
    g_u32_list(&w, "other.attention.sliding_window_pattern", (uint32_t[]){1, 1, 1, 0}, 4);
    token = 8 * (128 + 128) * 2;
    assert_true(cache_of(w, 8192) == token * (8192 + 3 * 1024));
}

static void a_window_of_unknown_layers_is_not_counted_with(void **state)
{
    (void)state;
    struct gguf_writer w = GGUF_WRITER;
    g_text(&w, "general.architecture", "phi3");
    g_u32(&w, "phi3.block_count", 4);
    g_u32(&w, "phi3.embedding_length", 1024);
    g_u32(&w, "phi3.attention.head_count", 8);
    g_u32(&w, "phi3.attention.sliding_window", 512);
    assert_true(cache_of(w, 8192) == 4 * (int64_t)8192 * 8 * 256 * 2);
}

static void latent_attention_keeps_one_vector_for_all_heads(void **state)
{
    (void)state;
    struct gguf_writer w = GGUF_WRITER; /* DeepSeek V3: 61 layers, 512 + 64 */
    g_text(&w, "general.architecture", "deepseek2");
    g_u32(&w, "deepseek2.block_count", 61);
    g_u32(&w, "deepseek2.embedding_length", 7168);
    g_u32(&w, "deepseek2.attention.head_count", 128);
    g_u32(&w, "deepseek2.attention.head_count_kv", 1);
    g_u32(&w, "deepseek2.attention.key_length", 576);
    g_u32(&w, "deepseek2.attention.value_length", 512);
    g_u32(&w, "deepseek2.attention.key_length_mla", 192);
    assert_true(cache_of(w, 4096) == (int64_t)61 * 576 * 2 * 4096);
}

static void layers_without_attention_keep_a_state(void **state)
{
    (void)state;
    struct gguf_writer w = GGUF_WRITER;
    g_text(&w, "general.architecture", "jamba");
    g_u32(&w, "jamba.block_count", 4);
    g_u32(&w, "jamba.embedding_length", 1024);
    g_u32(&w, "jamba.attention.head_count", 8);
    g_u32_list(&w, "jamba.attention.head_count_kv", (uint32_t[]){0, 0, 0, 8}, 4);
    g_u32(&w, "jamba.ssm.conv_kernel", 4);
    g_u32(&w, "jamba.ssm.inner_size", 2048);
    g_u32(&w, "jamba.ssm.state_size", 16);
    int64_t one = 4 * (3 * 2048 + 16 * 2048);
    assert_true(cache_of(w, 4096) == 3 * one + (int64_t)4096 * 8 * 256 * 2);
}

static void a_type_that_came_later_is_sized_by_its_place(void **state)
{
    (void)state;
    struct gguf_writer w = GGUF_WRITER;
    g_tensor(&w, "blk.0.a.weight", 250, 1024, 512, 3 * MIB_BYTES);
    g_tensor(&w, "blk.1.a.weight", 250, 1024, 512, 5 * MIB_BYTES);
    uint64_t size;
    AUTO_BUF struct buf file = g_finish(&w, &size);
    AUTO_FREE struct model_facts *f = facts_new();
    struct error err = {0};
    assert_int_equal(read_gguf(&file, size, f, &err), 0);
    assert_true(f->layer_bytes[0] == 3 * MIB_BYTES);
    assert_true(f->layer_bytes[1] == 5 * MIB_BYTES);
}

static void a_file_cut_short_is_told_as_such_wherever_it_ends(void **state)
{
    (void)state;
    struct gguf_writer w = GGUF_WRITER;
    g_text(&w, "general.architecture", "llama");
    g_u32(&w, "llama.block_count", 1);
    g_words(&w, "tokenizer.ggml.tokens", 20);
    g_tensor(&w, "blk.0.a.weight", G_F16_TENSOR, 1024, 512, MIB_BYTES);
    uint64_t size;
    AUTO_BUF struct buf file = g_finish(&w, &size);
    for (size_t len = 0; len < file.len; len++) {
        AUTO_FREE struct model_facts *f = facts_new();
        struct error err = {0};
        struct memory m = {file.at, len};
        int rc = gguf_read(&(struct model_input){read_memory, &m, len}, f, &err);
        assert_true(rc < 0);
        assert_true(err.text[0] != '\0');
    }
    AUTO_FREE struct model_facts *f = facts_new();
    struct error err = {0};
    assert_int_equal(read_gguf(&file, size - 1000, f, &err), -ENODATA);
    assert_non_null(strstr(err.text, "cut short"));
}

static void hostile_numbers_are_refused(void **state)
{
    (void)state;
    struct error err = {0};
    AUTO_FREE struct model_facts *f = facts_new();
    uint64_t size;
    struct gguf_writer w = GGUF_WRITER;
    g_tensor(&w, "blk.0.a.weight", G_F16_TENSOR, UINT64_MAX / 2, 9, 32);
    AUTO_BUF struct buf wide = g_finish(&w, &size);
    assert_int_equal(read_gguf(&wide, size, f, &err), -EBADMSG);
    w = GGUF_WRITER;
    g_tensor(&w, "blk.0.a.weight", G_Q4_K_TENSOR, 100, 1, 32); /* not whole blocks */
    AUTO_BUF struct buf blocks = g_finish(&w, &size);
    assert_int_equal(read_gguf(&blocks, size, f, &err), -EBADMSG);
    w = GGUF_WRITER;
    memset(f, 0, sizeof *f);
    g_key(&w, "general.name", G_TEXT);
    g_number(&w.keys, UINT64_MAX, 8);
    AUTO_BUF struct buf text = g_finish(&w, &size);
    assert_int_equal(read_gguf(&text, size, f, &err), -EBADMSG);
    w = GGUF_WRITER;
    g_key(&w, "a.b", G_ARRAY);
    g_number(&w.keys, G_U32, 4);
    g_number(&w.keys, UINT64_MAX, 8);
    AUTO_BUF struct buf list = g_finish(&w, &size);
    assert_int_equal(read_gguf(&list, size, f, &err), -EBADMSG);
    w = GGUF_WRITER;
    w.tensor_count = UINT64_MAX;
    AUTO_BUF struct buf many = g_finish(&w, &size);
    assert_int_equal(read_gguf(&many, size, f, &err), -EFBIG);
    AUTO_BUF struct buf other = BUF(1024);
    buf_text(&other, "PK\003\004 this is a zip archive");
    assert_int_equal(read_gguf(&other, other.len, f, &err), -EBADMSG);
    assert_string_equal(err.text, "this is not a GGUF file");
}

static void absurd_metadata_is_not_believed(void **state)
{
    (void)state;
    struct gguf_writer w = GGUF_WRITER;
    g_text(&w, "general.architecture", "llama");
    g_u32(&w, "llama.block_count", UINT32_MAX);
    g_u32(&w, "llama.embedding_length", UINT32_MAX);
    g_u32(&w, "llama.attention.head_count", UINT32_MAX);
    g_u32(&w, "llama.attention.key_length", 65536);
    g_u32(&w, "llama.attention.head_count_kv", 4096);
    g_tensor(&w, "blk.1023.a.weight", G_F16_TENSOR, 1024, 512, MIB_BYTES);
    uint64_t size;
    AUTO_BUF struct buf file = g_finish(&w, &size);
    AUTO_FREE struct model_facts *f = facts_new();
    AUTO_FREE struct model_need *n = calloc(1, sizeof *n);
    struct error err = {0};
    assert_int_equal(read_gguf(&file, size, f, &err), 0);
    model_need(f, &(struct model_options){.context = INT64_MAX}, n);
    assert_false(n->complete);
    assert_true(n->bytes >= 0 && n->bytes <= 2 * MODEL_BYTES_MAX);
    f->heads = reading_ok(4096);
    f->value_length = reading_ok(65536);
    model_need(f, &(struct model_options){.context = INT64_MAX}, n);
    assert_false(n->complete);
    assert_non_null(strstr(n->notes, "larger than can be counted"));
}

/* ---- safetensors ---- */

static void safetensors_file(struct buf *out, const char *header)
{
    g_number(out, strlen(header), 8);
    buf_text(out, header);
}

static int read_safetensors(const struct buf *file, uint64_t data, struct model_facts *f, struct error *err)
{
    struct memory m = {file->at, file->len};
    return safetensors_read(&(struct model_input){read_memory, &m, file->len + data}, f, err);
}

static void safetensors_tell_their_weights_and_config_the_cache(void **state)
{
    (void)state;
    AUTO_BUF struct buf file = BUF(1 << 20);
    safetensors_file(&file,
                     "{\"__metadata__\":{\"format\":\"pt\"},"
                     "\"model.embed_tokens.weight\":{\"dtype\":\"BF16\",\"shape\":[100,10],\"data_offsets\":[0,2000]},"
                     "\"model.layers.0.mlp.up_proj.weight\":{\"dtype\":\"F32\",\"shape\":[10,10],\"data_offsets\":[2000,2400]},"
                     "\"model.layers.1.mlp.up_proj.weight\":{\"dtype\":\"F8_E4M3\",\"shape\":[10,10],\"data_offsets\":[2400,2500]},"
                     "\"vision_tower.layers.7.x\":{\"dtype\":\"U8\",\"shape\":[50],\"data_offsets\":[2500,2550]},"
                     "\"lm_head.weight\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[2550,2552]}}   ");
    AUTO_FREE struct model_facts *f = facts_new();
    AUTO_FREE struct model_need *n = calloc(1, sizeof *n);
    struct error err = {0};
    assert_int_equal(read_safetensors(&file, 2552, f, &err), 0);
    assert_int_equal(f->tensor_count, 5);
    assert_int_equal(f->tensor_bytes, 2552);
    assert_int_equal(f->layers_seen, 2);
    assert_int_equal(f->layer_bytes[1], 100);
    const char *config =
        "{\"model_type\":\"llama\",\"num_hidden_layers\":32,\"num_attention_heads\":32,\"num_key_value_heads\":8,"
        "\"hidden_size\":4096,\"intermediate_size\":14336,\"vocab_size\":128256,\"max_position_embeddings\":131072}";
    assert_int_equal(model_config_read(str_from(config), f, &err), 0);
    model_need(f, &(struct model_options){.context = 8192}, n);
    assert_true(n->complete);
    assert_int_equal(n->weight_bytes, 2552); /* embeddings, too, are on the GPU */
    assert_true(n->cache_bytes.value == 1024 * MIB_BYTES);
}

static void config_json_knows_latent_sliding_and_linear_attention(void **state)
{
    (void)state;
    AUTO_FREE struct model_facts *f = facts_new();
    AUTO_FREE struct model_need *n = calloc(1, sizeof *n);
    struct error err = {0};
    const char *deepseek = "{\"num_hidden_layers\":61,\"num_attention_heads\":128,\"num_key_value_heads\":128,\"hidden_size\":7168,"
                           "\"kv_lora_rank\":512,\"qk_rope_head_dim\":64}";
    assert_int_equal(model_config_read(str_from(deepseek), f, &err), 0);
    model_need(f, &(struct model_options){.context = 4096}, n);
    assert_true(n->cache_bytes.value == (int64_t)61 * 576 * 2 * 4096);
    AUTO_FREE struct model_facts *g = facts_new();
    const char *gemma = "{\"model_type\":\"gemma3\",\"text_config\":{\"num_hidden_layers\":4,\"num_attention_heads\":8,"
                        "\"num_key_value_heads\":4,\"head_dim\":256,\"hidden_size\":2560,\"sliding_window\":1024,\"layer_types\":["
                        "\"sliding_attention\",\"sliding_attention\",\"sliding_attention\",\"full_attention\"]}}";
    assert_int_equal(model_config_read(str_from(gemma), g, &err), 0);
    model_need(g, &(struct model_options){.context = 8192}, n);
    assert_true(n->cache_bytes.value == (int64_t)4 * 512 * 2 * (8192 + 3 * 1536));
    AUTO_FREE struct model_facts *h = facts_new();
    const char *qwen =
        "{\"model_type\":\"qwen3_next\",\"num_hidden_layers\":4,\"num_attention_heads\":16,\"num_key_value_heads\":2,"
        "\"head_dim\":256,\"hidden_size\":2048,\"layer_types\":[\"linear_attention\",\"linear_attention\","
        "\"linear_attention\",\"full_attention\"]}";
    assert_int_equal(model_config_read(str_from(qwen), h, &err), 0);
    model_need(h, &(struct model_options){.context = 8192}, n);
    assert_true(n->cache_bytes.value == (int64_t)2 * 512 * 2 * 8192); /* of one layer */
    assert_true(model_config_read(str_from("[1,2]"), g, &err) < 0);
}

static void bad_safetensors_are_refused_with_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        int code;
        const char *says;
    } cases[] = {
        {"[]", -EBADMSG, "not a JSON object"},
        {"{\"a\":", -EBADMSG, "not a JSON object"},
        {"{\"a\":{}}", -EBADMSG, "is invalid"},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,4000]}}", -ENODATA, "cut short"},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[0,5]}}", -EBADMSG, "another size"},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[5,1]}}", -EBADMSG, "is invalid"},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[-2],\"data_offsets\":[0,4]}}", -EBADMSG, "is invalid"},
        {"{\"a\":{\"dtype\":\"F16\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,4]}}", -EBADMSG, "is invalid"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf file = BUF(1 << 16);
        AUTO_FREE struct model_facts *f = facts_new();
        struct error err = {0};
        safetensors_file(&file, cases[i].header);
        assert_int_equal(read_safetensors(&file, 1000, f, &err), cases[i].code);
        if (!strstr(err.text, cases[i].says))
            fail_msg("case %zu: %s", i, err.text);
    }
    AUTO_BUF struct buf huge = BUF(64);
    AUTO_FREE struct model_facts *f = facts_new();
    struct error err = {0};
    g_number(&huge, UINT64_MAX, 8);
    assert_int_equal(read_safetensors(&huge, 0, f, &err), -EFBIG);
    AUTO_BUF struct buf cut = BUF(64);
    g_number(&cut, 5000, 8);
    assert_int_equal(read_safetensors(&cut, 100, f, &err), -ENODATA);
    AUTO_BUF struct buf empty = BUF(64);
    assert_int_equal(read_safetensors(&empty, 100, f, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "too short"));
}

static void block_sizes_are_ggmls(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double bits; /* a weight, as ggml's README and the model pages give them */
    } known[] = {{"f16", 16},      {"q4_0", 4.5},   {"q8_0", 8.5},    {"q4_k", 4.5},   {"q5_k", 5.5},
                 {"q6_k", 6.5625}, {"q2_k", 2.625}, {"iq4_xs", 4.25}, {"mxfp4", 4.25}, {"iq1_s", 1.5625}};
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        const struct gguf_type *t = gguf_type_named(known[i].name);
        assert_non_null(t);
        assert_true((double)t->bytes * 8 / t->elements == known[i].bits);
    }
    assert_null(gguf_type_of(4));
    assert_null(gguf_type_of(UINT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_gguf_tells_its_weights_layer_by_layer),
        TEST(the_cache_has_the_size_that_llama_cpp_prints),
        TEST(tied_embeddings_are_counted_once_more_on_the_gpu),
        TEST(without_metadata_the_answer_is_only_a_lower_bound),
        TEST(sliding_windows_need_less),
        TEST(a_window_of_unknown_layers_is_not_counted_with),
        TEST(latent_attention_keeps_one_vector_for_all_heads),
        TEST(layers_without_attention_keep_a_state),
        TEST(a_type_that_came_later_is_sized_by_its_place),
        TEST(a_file_cut_short_is_told_as_such_wherever_it_ends),
        TEST(hostile_numbers_are_refused),
        TEST(absurd_metadata_is_not_believed),
        TEST(safetensors_tell_their_weights_and_config_the_cache),
        TEST(config_json_knows_latent_sliding_and_linear_attention),
        TEST(bad_safetensors_are_refused_with_a_sentence),
        TEST(block_sizes_are_ggmls),
    };
    return RUN_TESTS(tests);
}
