/* SPDX-License-Identifier: Apache-2.0
 * Recognizes model servers by their process names, and reads ports from their command lines.
 */
#include "cli/setup/servers.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/identity.h"
#include "host/procfs.h"

enum { CMDLINE_SIZE = 16 * 1024 };

static const struct server_kind {
    const char *method, *url;
    const char *names[4]; /* prefixes of process names, in any case */
} kinds[] = {
    {"ollama", "http://127.0.0.1:11434", {"ollama"}},
    {"llamacpp", "http://127.0.0.1:8080", {"llama-server"}},
    {"vllm", "http://127.0.0.1:8000", {"vllm"}},
    {"sglang", "http://127.0.0.1:30000", {"sglang"}},
    {"comfyui", "http://127.0.0.1:8188", {"comfyui"}},
    {"lmstudio", "http://127.0.0.1:1234", {"lm-studio", "lm studio", "lmstudio", "llmster"}},
    {"webui", "http://127.0.0.1:7860", {"stable-diffusion-webui"}},
};

const char *setup_server_url(struct str method)
{
    size_t i = NAME_FIND(kinds, method);
    return i < ARRAY_LEN(kinds) ? kinds[i].url : NULL;
}

static bool is_named(const struct server_kind *kind, struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(kind->names) && kind->names[i]; i++) {
        size_t len = strlen(kind->names[i]);
        if (name.len >= len && str_is_any_case((struct str){name.at, len}, kind->names[i]))
            return true;
    }
    return false;
}

static int64_t port_named(const struct str *args, size_t count)
{
    int64_t port = 0;
    for (size_t i = 0; i < count; i++) {
        struct str value = {0};
        if (str_is(args[i], "--port") && i + 1 < count)
            value = args[i + 1];
        else if (str_starts(args[i], "--port="))
            value = (struct str){args[i].at + 7, args[i].len - 7};
        if (value.len && (!str_to_i64(value, &port) || port < 0 || port > UINT16_MAX))
            port = 0;
    }
    return port;
}

/* Checks one process: sets the port of its kind to the one named, or -1 for the default. */
static void look_at(const struct env *env, const char *pid, int64_t ports[ARRAY_LEN(kinds)])
{
    char path[64], text[CMDLINE_SIZE], directory[256], title[PROCESS_TITLE_SIZE];
    struct str args[ARGUMENTS_MAX];
    snprintf(path, sizeof path, "/proc/%.16s/cmdline", pid);
    ssize_t len = file_read_head(env, path, text, sizeof text);
    size_t count = len > 0 ? proc_arguments((struct str){text, (size_t)len}, args, ARGUMENTS_MAX) : 0;
    if (count == 0)
        return;
    snprintf(path, sizeof path, "/proc/%.16s/cwd", pid);
    len = file_read_link(env, path, directory, sizeof directory);
    command_title(args, count, (struct str){directory, len > 0 ? (size_t)len : 0}, title, sizeof title);
    const char *slash = memrchr(args[0].at, '/', args[0].len);
    struct str program = slash ? (struct str){slash + 1, args[0].len - (size_t)(slash + 1 - args[0].at)} : args[0];
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (ports[i] <= 0 && is_named(&kinds[i], title[0] ? str_from(title) : program)) {
            int64_t port = port_named(args, count);
            ports[i] = port ? port : -1;
        }
}

void setup_find_servers(const struct env *env, struct buf *found)
{
    int64_t ports[ARRAY_LEN(kinds)] = {0};
    AUTO_DIR DIR *dir = dir_open(env, "/proc");
    for (const struct dirent *e; dir && (e = readdir(dir));)
        if (isdigit((unsigned char)e->d_name[0]))
            look_at(env, e->d_name, ports);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (ports[i])
            buf_printf(found, "%s%s", found->len ? "," : "", kinds[i].method);
        if (ports[i] > 0)
            buf_printf(found, "=http://127.0.0.1:%d", (int)ports[i]);
    }
}
