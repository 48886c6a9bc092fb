/* SPDX-License-Identifier: Apache-2.0
 * Only root can write to any of these directories; none has the toolkit's stubs, which do nothing.
 */
#include "source/driver_places.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"

#if defined __x86_64__
#define TRIPLET "x86_64-linux-gnu"
#elif defined __aarch64__
#define TRIPLET "aarch64-linux-gnu"
#elif defined __powerpc64__
#define TRIPLET "powerpc64le-linux-gnu"
#else
#define TRIPLET "unknown"
#endif

static const char *const libraries[] = {
    "/usr/lib/wsl/lib",                    /* WSL2: Windows' driver mounts it */
    "/run/opengl-driver/lib",              /* NixOS has no loader cache */
    "/run/nvidia/driver/usr/lib64",        /* GPU operator: the driver runs in a container */
    "/run/nvidia/driver/usr/lib/" TRIPLET, /* the same, from Debian's packages */
    "/usr/local/nvidia/lib64",             /* GKE mounts the node's driver there */
    "/usr/lib/" TRIPLET "/nvidia/current", /* Debian with broken alternatives */
    "/usr/lib/" TRIPLET "/nvidia",         /* Jetson */
    "/usr/lib/" TRIPLET "/tegra",          /* Jetson before JetPack 6 */
    "/usr/lib64",                          /* RPM */
};
static const char flatpak[] = "/usr/lib/" TRIPLET "/GL";

static const char *const programs[] = {
    "/usr/lib/wsl/lib", "/run/current-system/sw/bin", "/run/nvidia/driver/usr/bin", "/usr/local/nvidia/bin", "/opt/rocm/bin",
};

/* Calls `take` for each library directory until one returns true. */
static bool each_place(const struct env *env, bool (*take)(const struct env *, const char *place, void *user), void *user)
{
    for (size_t i = 0; i < ARRAY_LEN(libraries); i++)
        if (take(env, libraries[i], user))
            return true;
    /* "nvidia-580-95-05": Flatpak's runtime extension that matches the host's driver. */
    AUTO_DIR DIR *extensions = dir_open(env, flatpak);
    for (struct dirent *entry; extensions && (entry = readdir(extensions));) {
        char place[PATH_SIZE];
        if (str_starts(str_from(entry->d_name), "nvidia-") &&
            snprintf(place, sizeof place, "%s/%s/lib", flatpak, entry->d_name) < (int)sizeof place && take(env, place, user))
            return true;
    }
    return false;
}

struct library_search {
    const char *name;
    char *used;
    void *library;
    struct error *err; /* a file that fails to load says more than a missing one */
};

static bool load_from(const struct env *env, const char *place, void *user)
{
    struct library_search *s = user;
    char path[PATH_SIZE], whole[PATH_SIZE];
    if (snprintf(path, sizeof path, "%s/%s", place, s->name) >= (int)sizeof path || !file_exists(env, path) ||
        env_path(env, whole, "%s", path) < 0)
        return false;
    s->library = env->load_library(env, whole, s->err);
    if (s->library)
        str_copy(s->used, PATH_SIZE, str_from(path));
    return s->library != NULL;
}

void *place_load_library(const struct env *env, const char *name, char used[PATH_SIZE], struct error *err)
{
    used[0] = '\0';
    struct library_search s = {name, used, env->load_library(env, name, err), err};
    if (s.library && strstr(library_path(s.library), "/stubs/")) {
        error_set(err, -ENOENT, "'%s' is a stub of the CUDA toolkit", library_path(s.library));
        s.library = NULL;
    }
    if (!s.library && !strchr(name, '/') && each_place(env, load_from, &s) && err)
        *err = (struct error){0};
    return s.library;
}

bool place_find_program(const struct env *env, const char *name, char path[PATH_SIZE])
{
    for (size_t i = 0; i < ARRAY_LEN(programs) && !strchr(name, '/'); i++) {
        char there[PATH_SIZE];
        if (snprintf(there, sizeof there, "%s/%s", programs[i], name) < (int)sizeof there && file_exists(env, there))
            return env_path(env, path, "%s", there) == 0;
    }
    return false;
}

static bool list_place(const struct env *env, const char *place, void *user)
{
    (void)env;
    struct buf *out = user;
    buf_printf(out, "%s%s", out->len ? ", " : "", place);
    return false;
}

void places_list(const struct env *env, struct buf *out)
{
    each_place(env, list_place, out);
}
