/* SPDX-License-Identifier: Apache-2.0
 * Reads facts about a model. Opens only regular files, and reads only their headers.
 */
#include "ask/model_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/os/place.h"

enum { PARTS_MAX = 1000, FILES_MAX = 4096, CONFIG_MAX = 16 << 20, NAME_SIZE = 256 };

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
    char (*names)[NAME_SIZE];
};

static int add_name(struct names *n, const char *name, struct error *err)
{
    for (size_t i = 0; i < n->count; i++)
        if (strcmp(n->names[i], name) == 0)
            return 0;
    if (n->count == FILES_MAX || strlen(name) >= NAME_SIZE)
        return error_set(err, -EFBIG, "more than %d files, or names that are too long", FILES_MAX);
    str_copy(n->names[n->count++], NAME_SIZE, str_from(name));
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
    qsort(n->names, n->count, NAME_SIZE, model_files_by_name);
    int parts = parts_of(n->names[0], &at);
    if (n->count > 1 && (size_t)parts != n->count)
        return error_set(err, -EINVAL, "'%s' holds %zu GGUF files: name one of them", folder, n->count);
    snprintf(path, sizeof path, "%s/%s", folder, n->names[0]);
    return read_gguf(path, facts, err);
}

static int read_folder(const char *folder, struct model_facts *facts, struct error *err)
{
    struct names n = {.names = calloc(FILES_MAX, NAME_SIZE)};
    AUTO_FREE char(*owned)[NAME_SIZE] = n.names;
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
    if (strlen(path) >= PATH_MAX - NAME_SIZE)
        return error_set(err, -ENAMETOOLONG, "that path is too long");
    if (stat(path, &st) < 0)
        return error_set(err, -errno, "cannot open '%s': %s", path, strerror(errno));
    int rc = S_ISDIR(st.st_mode) ? read_folder(path, facts, err) : read_one(path, facts, err);
    return rc == 0 && !facts->tensor_count ? error_set(err, -ENODATA, "'%s' has no tensors", path) : rc;
}
