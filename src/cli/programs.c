/* SPDX-License-Identifier: Apache-2.0
 * Recognizes programs by their titles and command lines.
 */
#include "cli/programs.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/identity.h"
#include "host/procfs.h"

enum { CMDLINE_SIZE = 16 * 1024 };

/* What was started, and the title that it has by its script, module or game. */
struct running_program {
    char text[CMDLINE_SIZE], title[PROCESS_TITLE_SIZE];
    struct str args[ARGUMENTS_MAX]; /* into `text` */
    size_t count;
};

static bool read_program(const struct env *env, const char *pid, struct running_program *ret)
{
    char path[64], directory[256];
    snprintf(path, sizeof path, "/proc/%.16s/cmdline", pid);
    ssize_t len = file_read_head(env, path, ret->text, sizeof ret->text);
    ret->count = len > 0 ? proc_arguments((struct str){ret->text, (size_t)len}, ret->args, ARGUMENTS_MAX) : 0;
    if (ret->count == 0)
        return false;
    snprintf(path, sizeof path, "/proc/%.16s/cwd", pid);
    len = file_read_link(env, path, directory, sizeof directory);
    command_title(ret->args, ret->count, (struct str){directory, len > 0 ? (size_t)len : 0}, ret->title, sizeof ret->title);
    return true;
}

/* ---- by name ---- */

static struct str base_name(struct str path)
{
    for (size_t i = path.len; i > 0; i--)
        if (path.at[i - 1] == '/' || path.at[i - 1] == '\\') /* Wine and Proton show paths of Windows */
            return (struct str){path.at + i, path.len - i};
    return path;
}

/* Run what is named next, and have no title of their own. */
static const char *const runners[] = {"sh", "bash", "dash", "zsh", "wine", "wine64", "wine-preloader", "wine64-preloader"};

/* Its title, or its file without one, in `name`; whether either is called so. Without `asked` any is. */
static bool is_called(const struct env *env, const char *pid, const char *asked, char *name, size_t size)
{
    struct running_program p;
    if (!read_program(env, pid, &p))
        return false;
    struct str file = base_name(p.args[0]);
    for (size_t i = 0; p.count > 1 && i < ARRAY_LEN(runners); i++)
        if (str_is(file, runners[i])) {
            file = base_name(p.args[1]);
            break;
        }
    str_copy(name, size, p.title[0] ? str_from(p.title) : file);
    return !asked || str_is_any_case(str_from(name), asked) || str_is_any_case(file, asked);
}

size_t programs_called(const struct env *env, const char *asked, struct program_found *ret, size_t max)
{
    size_t count = 0;
    int64_t number;
    if (str_to_i64(str_from(asked), &number)) {
        if (number < 1 || number > INT32_MAX || !max || !is_called(env, asked, NULL, ret->name, sizeof ret->name))
            return 0;
        ret->pid = (int32_t)number;
        return 1;
    }
    AUTO_DIR DIR *dir = dir_open(env, "/proc");
    for (const struct dirent *e; dir && count < max && (e = readdir(dir));)
        if (str_to_i64(str_from(e->d_name), &number) && number != getpid() &&
            is_called(env, e->d_name, asked, ret[count].name, sizeof ret[count].name))
            ret[count++].pid = (int32_t)number;
    return count;
}

/* ---- model servers ---- */

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

const char *programs_server_url(struct str method)
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
    struct running_program p;
    if (!read_program(env, pid, &p))
        return;
    const char *slash = memrchr(p.args[0].at, '/', p.args[0].len);
    struct str file = slash ? (struct str){slash + 1, p.args[0].len - (size_t)(slash + 1 - p.args[0].at)} : p.args[0];
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (ports[i] <= 0 && is_named(&kinds[i], p.title[0] ? str_from(p.title) : file)) {
            int64_t port = port_named(p.args, p.count);
            ports[i] = port ? port : -1;
        }
}

void programs_find_servers(const struct env *env, struct buf *found)
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
