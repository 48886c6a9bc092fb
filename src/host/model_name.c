/* SPDX-License-Identifier: Apache-2.0
 * Model names in command lines of inference servers, trainers and tools. Tables say where each program puts it.
 */
#include "host/identity.h"

#include <ctype.h>

#include "base/cleanup.h"

/* clang-format off */
/* Options that name a model, most reliable first. Dashes and underscores are equivalent, and so are one and two leading dashes. */
static const char *const options[] = {
    "model-name-or-path", "pretrained-model-name-or-path", "model-path", "model-id", "model", "hf-repo", "hfr", "hf",
    "hf-model", "model-name", "model-dir", "base-model", "pretrained-model", "pretrained", "checkpoint-path", "ckpt-path",
    "checkpoint", "ckpt", "diffusion-model", "gguf", "model-file", "model-uid", "engine-dir", "load-checkpoint",
    "served-model-name", "alias",
};

/* Programs that take -m MODEL, by prefix. Elsewhere -m is a module or a message. */
static const char *const short_model_programs[] = {
    "llama", "whisper", "sd", "koboldcpp", "mistralrs", "ggml", "main", "server", "bark", "rwkv", "stable-diffusion", "exl",
    "tabby",
};

/* "PROGRAM WORD... MODEL": positional models. */
static const struct {
    const char *program, *words[2];
} positional[] = {
    {"vllm", {"serve"}},
    {"aphrodite", {"run"}},
    {"lmdeploy", {"serve", "api_server"}},
    {"mlc_llm", {"serve"}},
    {"mlc_llm", {"chat"}},
    {"trtllm-serve", {"serve"}},
    {"trtllm-serve", {NULL}},
    {"text-generation-server", {"serve"}},
    {"litgpt", {"serve"}},
    {"litgpt", {"generate"}},
    {"litgpt", {"chat"}},
    {"ollama", {"run"}},
    {"ramalama", {"serve"}},
    {"ramalama", {"run"}},
    {"transformers", {"serve"}},
    {"sglang", {"serve"}},
};

static const char *const model_files[] = {
    ".gguf", ".safetensors", ".ggml", ".bin", ".pt", ".pth", ".ckpt", ".onnx", ".engine", ".llamafile", ".nemo", ".tflite",
    ".mlmodel",
};

/* Generic file names: use the directory instead. */
static const char *const empty_names[] = {
    "model", "pytorch_model", "ggml-model", "consolidated", "weights", "checkpoint", "final", "best", "last", "latest",
    "adapter_model", "diffusion_pytorch_model", "snapshots",
};
/* clang-format on */

static bool same_name(struct str option, const char *name)
{
    if (option.len != strlen(name))
        return false;
    for (size_t i = 0; i < option.len; i++) {
        char c = option.at[i] == '_' ? '-' : (char)tolower((unsigned char)option.at[i]);
        if (c != name[i])
            return false;
    }
    return true;
}

static struct str base_of(struct str path)
{
    while (path.len > 1 && path.at[path.len - 1] == '/')
        path.len--;
    const char *slash = path.len ? memrchr(path.at, '/', path.len) : NULL;
    size_t folder = slash ? (size_t)(slash + 1 - path.at) : 0;
    return (struct str){path.at + folder, path.len - folder};
}

static struct str folder_of(struct str path)
{
    struct str base = base_of(path);
    size_t len = (size_t)(base.at - path.at);
    return (struct str){path.at, len ? len - 1 : 0};
}

static const char *file_ending(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(model_files); i++)
        if (name.len > strlen(model_files[i]) && str_ends(name, model_files[i]))
            return model_files[i];
    return NULL;
}

/* "x-00001-of-00003" -> "x" */
static struct str without_shard(struct str name)
{
    static const char pattern[] = "-NNNNN-of-NNNNN";
    size_t len = sizeof pattern - 1;
    if (name.len <= len)
        return name;
    const char *tail = name.at + name.len - len;
    for (size_t i = 0; i < len; i++)
        if (pattern[i] == 'N' ? !isdigit((unsigned char)tail[i]) : tail[i] != pattern[i])
            return name;
    return (struct str){name.at, name.len - len};
}

static bool is_hash(struct str s)
{
    if (str_starts(s, "sha256-") || str_starts(s, "sha256:"))
        return true;
    size_t hex = 0;
    while (hex < s.len && isxdigit((unsigned char)s.at[hex]))
        hex++;
    return hex == s.len && s.len >= 32;
}

static bool is_empty_name(struct str s)
{
    for (size_t i = 0; i < ARRAY_LEN(empty_names); i++)
        if (same_name(s, empty_names[i]) || str_is(s, empty_names[i]))
            return true;
    return is_hash(s);
}

/* Hugging Face stores "org/name" in a directory "models--org--name". */
static bool from_cache_folder(struct str path, char *to, size_t size)
{
    static const char mark[] = "models--";
    const char *found = memmem(path.at, path.len, mark, sizeof mark - 1);
    if (!found)
        return false;
    struct str rest = {found + sizeof mark - 1, path.len - (size_t)(found + sizeof mark - 1 - path.at)}, name;
    if (!str_cut(&rest, '/', &name))
        return false;
    char text[256];
    size_t len = 0;
    for (size_t i = 0; i < name.len && len < sizeof text - 1; i++) {
        bool dashes = i + 1 < name.len && name.at[i] == '-' && name.at[i + 1] == '-';
        text[len++] = dashes ? '/' : name.at[i];
        i += dashes;
    }
    str_copy_clean(to, size, (struct str){text, len});
    return to[0];
}

/* Whether a text can be the value of a model option. */
static bool is_value(struct str s)
{
    static const char *const words[] = {"true", "false", "none", "null", "auto"};
    if (s.len == 0 || s.at[0] == '-' || s.at[0] == '{' || s.at[0] == '$')
        return false;
    size_t letters = 0;
    for (size_t i = 0; i < s.len; i++)
        letters += isalpha((unsigned char)s.at[i]) || (unsigned char)s.at[i] >= 0x80;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is_any_case(s, words[i]))
            return false;
    return letters > 0;
}

/* Turns a value into the name that people use; "" if it says nothing. */
static void readable(struct str value, char *to, size_t size)
{
    to[0] = '\0';
    if (!is_value(value))
        return;
    const char *scheme = memmem(value.at, value.len, "://", 3);
    if (scheme) { /* keep hf://org/name whole; s3://bucket/x/name is a path */
        struct str rest = {scheme + 3, value.len - (size_t)(scheme + 3 - value.at)};
        bool hub = str_starts(value, "hf:") || str_starts(value, "huggingface:") || str_starts(value, "ollama:");
        value = hub ? rest : (struct str){scheme + 2, rest.len + 1};
    } else if (str_starts(value, "hf.co/")) {
        value = (struct str){value.at + 6, value.len - 6};
    }
    if (from_cache_folder(value, to, size))
        return;
    size_t slashes = 0;
    for (size_t i = 0; i < value.len; i++)
        slashes += value.at[i] == '/';
    struct str base = base_of(value);
    const char *ending = file_ending(base);
    bool repository =
        slashes == 1 && value.at[0] != '/' && value.at[0] != '.' && value.at[0] != '~' && !ending && base.at > value.at;
    if (repository || slashes == 0) {
        if (ending)
            value.len -= strlen(ending);
        value = without_shard(value);
        if (!is_empty_name(value) && !str_is(value, ".") && !str_is(value, ".."))
            str_copy_clean(to, size, value);
        return;
    }
    struct str name = base;
    if (ending)
        name.len -= strlen(ending);
    name = without_shard(name);
    for (struct str path = value; is_empty_name(name);) {
        if (str_contains(path, "/blobs/")) /* Ollama's store: the file is a hash, and its directory says nothing */
            return;
        path = folder_of(path);
        if (path.len == 0)
            return;
        name = base_of(path);
    }
    if (is_value(name) && !str_is(name, "..") && !str_is(name, "."))
        str_copy_clean(to, size, name);
}

/* "--option=value" and "--option value" */
static bool option_value(const struct str *args, size_t count, size_t i, struct str *option, struct str *value)
{
    struct str arg = args[i];
    if (arg.len < 2 || arg.at[0] != '-')
        return false;
    size_t dashes = arg.at[1] == '-' ? 2 : 1;
    struct str rest = {arg.at + dashes, arg.len - dashes};
    if (!str_cut(&rest, '=', option))
        return false;
    if (memchr(arg.at, '=', arg.len)) {
        *value = rest;
        return true;
    }
    *value = i + 1 < count ? args[i + 1] : (struct str){"", 0};
    return true;
}

/* Programs that run another one, which follows their options. */
static const struct {
    const char *name;
    bool whole; /* match the whole name, not just a prefix as in python3.11 */
} runners[] = {{"python", false},   {"pypy", false},   {"ld-linux", false}, {"ld-musl", false}, {"node", true}, {"nodejs", true},
               {"bun", true},       {"deno", true},    {"bash", true},      {"sh", true},       {"env", true},  {"uv", true},
               {"nice", true},      {"numactl", true}, {"sudo", true},      {"nohup", true},    {"time", true}, {"tini", true},
               {"dumb-init", true}, {"taskset", true}, {"conda", true},     {"xvfb-run", true}, {"java", true}, {"julia", true},
               {"Rscript", true},   {"perl", true},    {"ruby", true}};

static bool is_runner(struct str program)
{
    for (size_t i = 0; i < ARRAY_LEN(runners); i++)
        if (runners[i].whole ? str_is(program, runners[i].name) : str_starts(program, runners[i].name))
            return true;
    return false;
}

size_t command_program_at(const struct str *args, size_t count)
{
    size_t at = 0;
    while (at < count && is_runner(base_of(args[at]))) {
        bool python = str_starts(base_of(args[at]), "python") || str_starts(base_of(args[at]), "pypy");
        at++;
        while (at < count && args[at].len && args[at].at[0] == '-') {
            if (python && str_is(args[at], "-m")) { /* the module is the program */
                at++;
                break;
            }
            if (python && str_is(args[at], "-c"))
                return count;
            at += python && (str_is(args[at], "-X") || str_is(args[at], "-W")) ? 2 : 1;
        }
        if (python)
            break;
        int64_t number;
        while (at < count && str_to_i64(args[at], &number)) /* nice -n 5 */
            at++;
        while (at < count && memchr(args[at].at, '=', args[at].len) && args[at].at[0] != '-') /* env NAME=value */
            at++;
        if (at < count && (str_is(args[at], "run") || str_is(args[at], "exec")))
            at++;
    }
    return MIN_OF(at, count);
}

static bool by_option(const struct str *args, size_t count, char *to, size_t size)
{
    for (size_t k = 0; k < ARRAY_LEN(options); k++)
        for (size_t i = 0; i < count; i++) {
            struct str option, value;
            if (!option_value(args, count, i, &option, &value) || !same_name(option, options[k]))
                continue;
            readable(value, to, size);
            if (to[0] || str_contains(value, "/blobs/"))
                return true;
        }
    return false;
}

static bool by_short_option(const struct str *args, size_t count, char *to, size_t size)
{
    struct str program = base_of(args[0]);
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(short_model_programs); i++)
        known = known || str_starts(program, short_model_programs[i]);
    for (size_t i = 1; i + 1 < count; i++)
        if (str_is(args[i], "-m") && (known || file_ending(args[i + 1]))) {
            readable(args[i + 1], to, size);
            if (to[0])
                return true;
        }
    return false;
}

/* "vllm.entrypoints.cli.main" and "/opt/venv/bin/vllm" are both vllm. */
static bool is_program(struct str arg, const char *name)
{
    struct str base = base_of(arg);
    size_t len = strlen(name);
    return str_starts(base, name) && (base.len == len || base.at[len] == '.');
}

static bool by_position(const struct str *args, size_t count, char *to, size_t size)
{
    for (size_t k = 0; k < ARRAY_LEN(positional); k++) {
        if (!is_program(args[0], positional[k].program))
            continue;
        size_t at = 1, words = 0;
        while (words < 2 && positional[k].words[words] && at < count && str_is(args[at], positional[k].words[words])) {
            words++;
            at++;
        }
        if (words < 2 && positional[k].words[words])
            continue;
        if (at < count && args[at].len && args[at].at[0] != '-') {
            readable(args[at], to, size);
            if (to[0])
                return true;
        }
    }
    return false;
}

/* Any argument that is a weights file. */
static bool by_file(const struct str *args, size_t count, char *to, size_t size)
{
    for (size_t i = 1; i < count; i++)
        if (args[i].len && args[i].at[0] != '-' && (str_ends(args[i], ".gguf") || str_ends(args[i], ".safetensors"))) {
            readable(args[i], to, size);
            if (to[0])
                return true;
        }
    return false;
}

void model_name(const struct str *args, size_t count, char *to, size_t size)
{
    to[0] = '\0';
    size_t at = command_program_at(args, count);
    args += at;
    count -= at;
    if (count == 0)
        return;
    bool found = by_position(args, count, to, size) || by_option(args, count, to, size) || by_short_option(args, count, to, size) ||
                 by_file(args, count, to, size);
    (void)found;
}
