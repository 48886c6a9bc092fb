/* SPDX-License-Identifier: Apache-2.0
 * Facts about a model, for which only regular files are opened and only their headers read; and free memory according to the
 * drivers, the daemon and the guards in the foreground.
 */
#include "ask/ask_fit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ask/answers.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/os/place.h"
#include "format/capacity_forms.h"
#include "format/health_forms.h"
#include "insight/verdict/health.h"

/* ---- the files of a model ---- */

enum { PARTS_MAX = 1000, FILES_MAX = 4096, CONFIG_MAX = 16 << 20, FILE_NAME_SIZE = 256 };

static ssize_t read_file(void *user, uint64_t at, void *to, size_t size)
{
    ssize_t got;
    if (at > INT64_MAX)
        return 0;
    do
        got = pread(*(int *)user, to, size, (off_t)at);
    while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

/* Opens a regular file; never blocks on a pipe or device. */
static int open_regular(const char *path, uint64_t *ret_size, struct error *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return error_set(err, -EINVAL, "'%s' is not a file", path);
    *ret_size = (uint64_t)st.st_size;
    int open_fd = fd;
    fd = -1;
    return open_fd;
}

typedef int read_header_fn(const struct model_input *in, struct model_facts *facts, struct error *err);

static int read_header(const char *path, read_header_fn *read, struct model_facts *facts, struct error *err)
{
    uint64_t size;
    struct error why = {0};
    AUTO_CLOSE int fd = open_regular(path, &size, err);
    if (fd < 0)
        return fd;
    int rc = read(&(struct model_input){read_file, &fd, size}, facts, &why);
    return rc < 0 ? error_set(err, rc, "'%s': %s", path, why.text) : 0;
}

/* ---- GGUF ---- */

/* "name-00002-of-00005.gguf": the position of the number, and the number of parts; 0: not a part. */
static int parts_of(const char *path, size_t *ret_at)
{
    size_t len = strlen(path);
    enum { TAIL = 20 }; /* "-00002-of-00005.gguf" */
    int number, count, used = 0;
    if (len <= TAIL || sscanf(path + len - TAIL, "-%5d-of-%5d.gguf%n", &number, &count, &used) != 2 || used != TAIL || count < 1)
        return 0;
    *ret_at = len - TAIL;
    return count;
}

static int read_parts(const char *path, size_t at, int count, struct model_facts *facts, struct error *err)
{
    if (count > PARTS_MAX)
        return error_set(err, -EFBIG, "'%s': a model of %d parts is too large", path, count);
    int rc = 0;
    for (int i = 1; rc == 0 && i <= count; i++) {
        char part[PATH_MAX];
        snprintf(part, sizeof part, "%.*s-%05d-of-%05d.gguf", (int)at, path, i, count);
        rc = read_header(part, gguf_read, facts, err);
        if (rc == 0 && facts->split_count && facts->split_count != count)
            rc = error_set(err, -EBADMSG, "'%s' claims to have %lld parts", part, (long long)facts->split_count);
    }
    return rc;
}

static int read_gguf(const char *path, struct model_facts *facts, struct error *err)
{
    size_t at;
    int count = parts_of(path, &at);
    if (count > 1)
        return read_parts(path, at, count, facts, err);
    int rc = read_header(path, gguf_read, facts, err);
    if (rc == 0 && facts->split_count > 1)
        return error_set(err, -EINVAL, "'%s' is one of %lld parts, but is not named NAME-00001-of-%05lld.gguf", path,
                         (long long)facts->split_count, (long long)facts->split_count);
    return rc;
}

/* ---- safetensors ---- */

static int read_config(const char *folder, struct model_facts *facts, struct error *err)
{
    char path[PATH_MAX];
    AUTO_BUF struct buf text = BUF(CONFIG_MAX);
    struct error why = {0};
    snprintf(path, sizeof path, "%s/config.json", folder);
    int rc = file_read_all(&(struct env){.sysroot = ""}, path, &text);
    if (rc == -ENOENT)
        return 0; /* the result is then a lower bound, and says so */
    if (rc < 0)
        return error_set(err, rc, "cannot read '%s': %s", path, strerror(-rc));
    rc = model_config_read(buf_view(&text), facts, &why);
    return rc < 0 ? error_set(err, rc, "'%s': %s", path, why.text) : 0;
}

struct names {
    size_t count;
    char (*names)[FILE_NAME_SIZE];
};

static int add_name(struct names *n, const char *name, struct error *err)
{
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->names[i], name) == 0)
            return 0;
    if (n->count == FILES_MAX || strlen(name) >= FILE_NAME_SIZE)
        return error_set(err, -EFBIG, "more than %d files, or names that are too long", FILES_MAX);
    str_copy(n->names[n->count++], FILE_NAME_SIZE, str_from(name));
    return 0;
}

/* The index lists the model's files; the directory may hold others. */
static int names_of_index(const char *folder, struct names *n, struct error *err)
{
    char path[PATH_MAX];
    AUTO_BUF struct buf text = BUF(CONFIG_MAX * 4);
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", folder);
    int rc = file_read_all(&(struct env){.sysroot = ""}, path, &text);
    if (rc < 0)
        return rc == -ENOENT ? 0 : error_set(err, rc, "cannot read '%s': %s", path, strerror(-rc));
    AUTO_JSON json_t *json = json_loadb(buf_view(&text).at, text.len, 0, NULL);
    const char *tensor;
    json_t *file, *map = json_object_get(json, "weight_map");
    rc = json_is_object(map) ? 0 : error_set(err, -EBADMSG, "'%s' has no weight_map", path);
    if (rc == 0)
        json_object_foreach(map, tensor, file)
        {
            const char *name = json_string_value(file);
            if (!name || strchr(name, '/'))
                rc = error_set(err, -EBADMSG, "'%s' refers to a file that is not in the directory", path);
            else if (rc == 0)
                rc = add_name(n, name, err);
        }
    return rc;
}

static int names_of_folder(const char *folder, const char *ending, struct names *n, struct error *err)
{
    AUTO_DIR DIR *dir = opendir(folder);
    if (!dir)
        return error_set(err, -errno, "cannot open '%s': %s", folder, strerror(errno));
    int rc = 0;
    for (const struct dirent *e; rc == 0 && (e = readdir(dir));)
        if (e->d_name[0] != '.' && str_ends(str_from(e->d_name), ending))
            rc = add_name(n, e->d_name, err);
    return rc;
}

static int read_safetensors(const char *folder, const struct names *n, struct model_facts *facts, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n->count; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, n->names[i]);
        rc = read_header(path, safetensors_read, facts, err);
    }
    return rc < 0 ? rc : read_config(folder, facts, err);
}

static int model_files_by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* A directory with one GGUF model: a single file or its parts. */
static int read_gguf_folder(const char *folder, struct names *n, struct model_facts *facts, struct error *err)
{
    size_t at;
    char path[PATH_MAX];
    qsort(n->names, n->count, FILE_NAME_SIZE, model_files_by_name);
    int parts = parts_of(n->names[0], &at);
    if (n->count > 1 && (size_t)parts != n->count)
        return error_set(err, -EINVAL, "'%s' holds %zu GGUF files: name one of them", folder, n->count);
    snprintf(path, sizeof path, "%s/%s", folder, n->names[0]);
    return read_gguf(path, facts, err);
}

static int read_folder(const char *folder, struct model_facts *facts, struct error *err)
{
    struct names n = {.names = calloc(FILES_MAX, FILE_NAME_SIZE)};
    AUTO_FREE char(*owned)[FILE_NAME_SIZE] = n.names;
    if (!n.names)
        return error_set(err, -ENOMEM, "out of memory");
    int rc = names_of_index(folder, &n, err);
    if (rc == 0 && n.count == 0)
        rc = names_of_folder(folder, ".safetensors", &n, err);
    if (rc < 0 || n.count)
        return rc < 0 ? rc : read_safetensors(folder, &n, facts, err);
    rc = names_of_folder(folder, ".gguf", &n, err);
    if (rc == 0 && n.count == 0)
        return error_set(err, -ENOENT, "'%s' holds neither safetensors nor GGUF files", folder);
    return rc < 0 ? rc : read_gguf_folder(folder, &n, facts, err);
}

/* ---- choosing files ---- */

static int read_one(const char *path, struct model_facts *facts, struct error *err)
{
    uint64_t size;
    char magic[4] = {0};
    AUTO_CLOSE int fd = open_regular(path, &size, err);
    if (fd < 0)
        return fd;
    if (read_file(&fd, 0, magic, sizeof magic) == sizeof magic && memcmp(magic, "GGUF", 4) == 0)
        return read_gguf(path, facts, err);
    if (!str_ends(str_from(path), ".safetensors"))
        return error_set(err, -EINVAL, "'%s' is neither a GGUF file nor a safetensors file", path);
    int rc = read_header(path, safetensors_read, facts, err);
    char folder[PATH_MAX];
    const char *slash = path_last_slash(path);
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    return rc < 0 ? rc : read_config(slash == path ? "" : folder, facts, err);
}

int model_files_read(const char *path, struct model_facts *facts, struct error *err)
{
    struct stat st;
    *facts = (struct model_facts){0};
    if (strlen(path) >= PATH_MAX - FILE_NAME_SIZE)
        return error_set(err, -ENAMETOOLONG, "that path is too long");
    if (stat(path, &st) < 0)
        return error_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
    int rc = S_ISDIR(st.st_mode) ? read_folder(path, facts, err) : read_one(path, facts, err);
    return rc == 0 && !facts->tensor_count ? error_set(err, -ENODATA, "'%s' has no tensors", path) : rc;
}

/* ---- the room for it ---- */

static void add_hold(struct capacity_hold *holds, size_t *count, const struct capacity_hold *one)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(holds[i].worker, one->worker) == 0 && holds[i].gpu_index == one->gpu_index)
            return;
    if (*count < CAPACITY_HOLDS_MAX)
        holds[(*count)++] = *one;
}

/* Guards in the foreground report a worker's memory as a sum over its GPUs, so only workers on a single GPU count. */
static void ask_guards(struct cli *cli, struct capacity_hold *holds, size_t *count, bool *known)
{
    char problem[256];
    size_t asked = 0;
    if (cli->ask.source_count || env_is_recorded(&cli->env))
        return; /* GPUs of another host */
    AUTO_JSON json_t *workers = guard_ask(cli, "GET", "/api/guard", NULL, &asked, problem, sizeof problem);
    *known = *known || asked > 0;
    for (size_t i = 0; i < json_array_size(workers); i++) {
        const json_t *w = json_array_get(workers, i), *gpus = json_object_get(w, "gpus");
        const char *name = json_string_value(json_object_get(w, "name")), *state = json_string_value(json_object_get(w, "state"));
        double mib = json_number_value(json_object_get(w, "memory_mb"));
        if (!name || !state || strcmp(state, "running") != 0 || json_array_size(gpus) != 1 || mib <= 0 || mib > 1e9)
            continue;
        struct capacity_hold hold = {.gpu_index = (int)json_integer_value(json_array_get(gpus, 0)),
                                     .bytes = (int64_t)(mib * (1 << 20)),
                                     .evictable = !json_is_true(json_object_get(w, "gave_up")) &&
                                                  !json_is_true(json_object_get(w, "dry_run"))};
        str_copy(hold.worker, sizeof hold.worker, str_from(name));
        add_hold(holds, count, &hold);
    }
}

/* Only the daemon knows the past minimum of free memory, and lasting problems of a GPU. */
static void take_told(struct capacity *c, const struct capacity *past)
{
    for (size_t i = 0; i < c->gpu_count; i++)
        for (size_t k = 0; k < past->gpu_count; k++) {
            if (c->gpus[i].index != past->gpus[k].index || c->gpus[i].instance != past->gpus[k].instance)
                continue;
            c->gpus[i].least_hour_bytes = past->gpus[k].least_hour_bytes;
            c->gpus[i].least_day_bytes = past->gpus[k].least_day_bytes;
            c->gpus[i].watched_ms = past->gpus[k].watched_ms;
            if (c->gpus[i].usable && !past->gpus[k].usable) {
                c->gpus[i].usable = false;
                memcpy(c->gpus[i].problem, past->gpus[k].problem, sizeof c->gpus[i].problem);
            }
        }
}

struct capacity *fit_capacity(struct cli *cli, struct session *session, const struct snapshot *s, int64_t reserve_bytes)
{
    AUTO_BUF struct buf answer = BUF(8 << 20);
    AUTO_FREE struct capacity *told = NULL;
    AUTO_FREE struct capacity_hold *holds = calloc(CAPACITY_HOLDS_MAX, sizeof *holds);
    struct capacity_settings settings = {.reserve_bytes = reserve_bytes};
    size_t count = 0;
    if (!holds)
        return NULL;
    if (session_get(session, "/api/capacity", &answer) == 200)
        told = capacity_from_json(buf_view(&answer));
    bool known = told && told->guard_known;
    if (told && told->gpu_count)
        settings.reserve_bytes = told->gpus[0].reserve_bytes;
    for (size_t i = 0; told && i < told->hold_count; i++)
        add_hold(holds, &count, &told->holds[i]);
    ask_guards(cli, holds, &count, &known);
    struct capacity *c = capacity_new(s, &settings, known ? holds : NULL, count);
    if (c && told)
        take_told(c, told);
    else if (c && !cli->host) {
        struct health_basis basis;
        struct health *health = session_health(session, &basis);
        capacity_exclude(c, health);
        health_free(health);
    }
    return c;
}

void fit_doubt(const struct model_need *need, struct placement *p)
{
    if (need->complete || p->verdict != PLACEMENT_FITS)
        return;
    p->verdict = PLACEMENT_UNKNOWN;
    p->missing_bytes = -1;
    p->evicted_count = p->copy_count = 0;
    char reason[PLACEMENT_REASON_SIZE];
    snprintf(reason, sizeof reason, "the weights alone fit, but %s", need->notes);
    str_copy(p->reason, sizeof p->reason, str_from(reason));
}
