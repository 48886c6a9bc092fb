/* SPDX-License-Identifier: Apache-2.0
 * Names of Ollama's models. A runner's command line has a blob; manifests map names to the blob with their weights:
 *
 *   MODELS/blobs/sha256-6a07...                          the weights, as in the command line of the runner
 *   MODELS/manifests/REGISTRY/NAMESPACE/MODEL/TAG        {"layers": [{"mediaType": "...image.model", "digest": "sha256:6a07..."}]}
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "host/linux/process_files.h"
#include "model/process.h"

enum { DEPTH = 4, MANIFESTS_MAX = 4096, MANIFEST_SIZE = 16384, DIGEST_LEN = 64 };

struct ollama_search {
    const struct env *env;
    char digest[8 + DIGEST_LEN]; /* "sha256:..." */
    const char *part[DEPTH];
    int looked_at;
    char best[PROCESS_MODEL_SIZE];
};

/* As in `ollama list`: omits the default registry and namespace, and the tag "latest". */
static void name_of(const struct ollama_search *s, char *to, size_t size)
{
    bool usual = strcmp(s->part[0], "registry.ollama.ai") == 0;
    bool library = usual && strcmp(s->part[1], "library") == 0;
    bool latest = strcmp(s->part[3], "latest") == 0;
    snprintf(to, size, "%s%s%s%s%s%s%s", usual ? "" : s->part[0], usual ? "" : "/", library ? "" : s->part[1], library ? "" : "/",
             s->part[2], latest ? "" : ":", latest ? "" : s->part[3]);
}

/* Several names may refer to the same weights: prefer the longest ("llama3.1:8b" over "llama3.1"), then the first. */
static void offer(struct ollama_search *s)
{
    char name[PROCESS_MODEL_SIZE], clean[PROCESS_MODEL_SIZE];
    name_of(s, name, sizeof name);
    str_copy_clean(clean, sizeof clean, str_from(name));
    bool tagged = strchr(clean, ':'), had_tag = strchr(s->best, ':');
    if (!s->best[0] || (tagged && !had_tag) || (tagged == had_tag && strcmp(clean, s->best) < 0))
        str_copy(s->best, sizeof s->best, str_from(clean));
}

/* The layer of this type has the weights; models share templates and licenses. */
static bool has_weights(struct str manifest, const char *digest)
{
    static const char type[] = "application/vnd.ollama.image.model\"";
    const char *at = memmem(manifest.at, manifest.len, type, sizeof type - 1);
    if (!at)
        return false;
    struct str rest = {at, manifest.len - (size_t)(at - manifest.at)}, layer;
    return str_cut(&rest, '}', &layer) && str_contains(layer, digest);
}

static void search_below(struct ollama_search *s, const char *path, size_t depth)
{
    AUTO_DIR DIR *dir = dir_open(s->env, path);
    struct dirent *entry;
    while (dir && s->looked_at < MANIFESTS_MAX && (entry = readdir(dir))) {
        char below[PATH_SIZE], text[MANIFEST_SIZE];
        if (entry->d_name[0] == '.' || (size_t)snprintf(below, sizeof below, "%s/%s", path, entry->d_name) >= sizeof below)
            continue;
        s->part[depth] = entry->d_name;
        s->looked_at++;
        if (depth + 1 < DEPTH) {
            search_below(s, below, depth + 1);
            continue;
        }
        ssize_t len = file_read_head(s->env, below, text, sizeof text);
        if (len > 0 && has_weights((struct str){text, (size_t)len}, s->digest))
            offer(s);
    }
}

static bool find_blob(const struct str *args, size_t count, struct str *models, struct str *digest)
{
    static const char mark[] = "/blobs/sha256-";
    for (size_t i = 1; i < count; i++) {
        const char *at = args[i].len ? memmem(args[i].at, args[i].len, mark, sizeof mark - 1) : NULL;
        if (!at || args[i].at[0] != '/')
            continue;
        *models = (struct str){args[i].at, (size_t)(at - args[i].at)};
        *digest = (struct str){at + sizeof mark - 1, args[i].len - models->len - (sizeof mark - 1)};
        if (digest->len == DIGEST_LEN)
            return true;
    }
    return false;
}

void ollama_model_name(const struct env *env, int32_t pid, const struct str *args, size_t count, char *to, size_t size)
{
    struct str models, digest;
    to[0] = '\0';
    if (!find_blob(args, count, &models, &digest))
        return;
    struct env quiet = unrecorded(env); /* keep a user's models out of recordings */
    struct ollama_search s = {.env = &quiet};
    snprintf(s.digest, sizeof s.digest, "sha256:" STR_FMT, STR_ARG(digest));
    char path[PATH_SIZE];
    snprintf(path, sizeof path, STR_FMT "/manifests", STR_ARG(models));
    search_below(&s, path, 0);
    if (!s.best[0]) { /* in a container the path starts at its own root */
        snprintf(path, sizeof path, "/proc/%d/root" STR_FMT "/manifests", (int)pid, STR_ARG(models));
        search_below(&s, path, 0);
    }
    str_copy(to, size, str_from(s.best));
}
