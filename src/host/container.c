/* SPDX-License-Identifier: Apache-2.0
 * Container names from cgroup paths. Every runtime spells them differently, v1 and v2, with the systemd and the cgroupfs driver;
 * common to all is a 64-digit ID in the last components of the path.
 */
#include "host/identity.h"

#include <stdio.h>

#include "base/cleanup.h"

enum { ID_LEN = 64, SHORT_ID_LEN = 12, PARTS_MAX = 32 };

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Prefixes of a container's ID in a path component ("docker-ID.scope"), and the runtimes that use them. */
static const struct {
    const char *prefix, *runtime;
} prefixes[] = {{"docker-", "docker"},
                {"libpod-", "podman"},
                {"cri-containerd-", "containerd"},
                {"containerd-", "containerd"},
                {"nerdctl-", "containerd"},
                {"crio-", "crio"},
                {"cri-o-", "crio"},
                {"cri-dockerd-", "docker"},
                {"cri-containerd:", "containerd"},
                {"docker:", "docker"},
                {"crio:", "crio"}};

/* A directory above a bare ID ("/docker/ID"). */
static const struct {
    const char *folder, *runtime;
} folders[] = {{"docker", "docker"},     {"libpod_parent", "podman"}, {"libpod", "podman"},      {"podman", "podman"},
               {"ecs", "ecs"},           {"garden", "garden"},        {"actions_job", "docker"}, {"default", "containerd"},
               {"k8s.io", "containerd"}, {"buildkit", "buildkit"}};

struct path {
    struct str parts[PARTS_MAX];
    size_t count;
};

static struct path split(struct str text)
{
    struct path path = {.count = 0};
    struct str part;
    while (path.count < PARTS_MAX && str_cut(&text, '/', &part))
        if (part.len)
            path.parts[path.count++] = part;
    return path;
}

static struct str without_suffix(struct str s, const char *suffix)
{
    if (str_ends(s, suffix))
        s.len -= strlen(suffix);
    return s;
}

static struct str after(struct str s, const char *prefix)
{
    size_t len = strlen(prefix);
    return (struct str){s.at + len, s.len - len};
}

/* The ID at the end of a component: 64 digits (ECS and Garden use shorter ones below their own directory). */
static bool ends_with_id(struct str part, struct str *before, struct str *id)
{
    part = without_suffix(part, ".scope");
    if (part.len < ID_LEN)
        return false;
    struct str tail = {part.at + part.len - ID_LEN, ID_LEN};
    for (size_t i = 0; i < ID_LEN; i++)
        if (!is_hex(tail.at[i]))
            return false;
    *before = (struct str){part.at, part.len - ID_LEN};
    *id = tail;
    return true;
}

/* "kubepods-burstable-pod0a1b_2c3d.slice", "pod0a1b-2c3d" -> "0a1b-2c3d", with dashes whatever the driver. */
static bool pod_uid(const struct path *path, char uid[40])
{
    bool kubernetes = false;
    uid[0] = '\0';
    for (size_t i = 0; i < path->count; i++) {
        struct str part = without_suffix(path->parts[i], ".slice");
        if (str_starts(part, "kubepods"))
            kubernetes = true;
        if (!kubernetes)
            continue;
        const char *pod = str_starts(part, "pod") ? part.at : memmem(part.at, part.len, "-pod", 4);
        if (!pod)
            continue;
        struct str found = after((struct str){pod, part.len - (size_t)(pod - part.at)}, *pod == '-' ? "-pod" : "pod");
        /* containerd without its own slice: "kubepods-besteffort-podUID.slice:cri-containerd:ID" */
        const char *colon = memchr(found.at, ':', found.len);
        if (colon)
            found = without_suffix((struct str){found.at, (size_t)(colon - found.at)}, ".slice");
        str_copy_clean(uid, 40, found);
        for (char *c = uid; *c; c++)
            if (*c == '_')
                *c = '-';
    }
    return kubernetes;
}

/* Containers with a 64-digit ID. */
static bool find_id(const struct path *path, struct container_key *ret)
{
    for (size_t i = path->count; i-- > 0;) {
        struct str before, id;
        if (!ends_with_id(path->parts[i], &before, &id))
            continue;
        if (str_ends(before, "conmon-")) /* the monitor runs beside the container, not inside */
            return false;
        ret->runtime = "container";
        for (size_t k = 0; k < ARRAY_LEN(prefixes); k++)
            if (str_ends(before, prefixes[k].prefix))
                ret->runtime = prefixes[k].runtime;
        for (size_t k = 0; i > 0 && before.len == 0 && k < ARRAY_LEN(folders); k++)
            if (str_is(path->parts[i - 1], folders[k].folder))
                ret->runtime = folders[k].runtime;
        str_copy(ret->id, sizeof ret->id, id);
        if (pod_uid(path, ret->pod))
            ret->runtime = "k8s";
        return true;
    }
    return false;
}

/* "user-1000.slice" -> 1000: rootless containers keep their state in the user's directory. */
static int64_t slice_uid(const struct path *path)
{
    int64_t uid;
    for (size_t i = 0; i < path->count; i++) {
        struct str part = without_suffix(path->parts[i], ".slice");
        if (str_starts(part, "user-") && str_to_i64(after(part, "user-"), &uid) && uid >= 0)
            return uid;
    }
    return -1;
}

static bool name_by_id(const struct path *path, char *to, size_t size)
{
    struct container_key key;
    if (!find_id(path, &key))
        return false;
    snprintf(to, size, "%s:%s%s%.*s", key.runtime, key.pod, key.pod[0] ? "/" : "", SHORT_ID_LEN, key.id);
    return true;
}

static void container_put(char *to, size_t size, const char *kind, struct str name)
{
    char clean[65];
    str_copy_clean(clean, sizeof clean, name);
    snprintf(to, size, "%s:%s", kind, clean);
}

/* "a\x2db" is systemd's "a-b" in unit names. */
static struct str unescape(struct str s, char *text, size_t size)
{
    size_t len = 0;
    for (size_t i = 0; i < s.len && len + 1 < size; i++) {
        if (s.len - i >= 4 && memcmp(s.at + i, "\\x2d", 4) == 0) {
            text[len++] = '-';
            i += 3;
        } else {
            text[len++] = s.at[i];
        }
    }
    text[len] = '\0';
    return (struct str){text, len};
}

/* Containers and jobs with names. */
static bool name_by_words(const struct path *path, char *to, size_t size)
{
    for (size_t i = 0; i < path->count; i++) {
        struct str part = path->parts[i], next = i + 1 < path->count ? path->parts[i + 1] : (struct str){"", 0};
        char text[128];
        if (str_starts(part, "lxc.payload.") || str_starts(part, "lxc.payload/"))
            return container_put(to, size, "lxc", after(part, "lxc.payload.")), true;
        if ((str_is(part, "lxc") || str_is(part, "lxc.payload")) && next.len)
            return container_put(to, size, "lxc", next), true;
        if (str_starts(part, "systemd-nspawn@"))
            return container_put(to, size, "nspawn",
                                 unescape(without_suffix(after(part, "systemd-nspawn@"), ".service"), text, sizeof text)),
                   true;
        if (str_starts(part, "machine-") && str_ends(part, ".scope"))
            return container_put(to, size, "machine",
                                 unescape(without_suffix(after(part, "machine-"), ".scope"), text, sizeof text)),
                   true;
        if (str_starts(part, "app-flatpak-") && str_ends(part, ".scope")) {
            struct str app = unescape(without_suffix(after(part, "app-flatpak-"), ".scope"), text, sizeof text);
            const char *dash = memrchr(app.at, '-', app.len); /* "-PID" at the end */
            return container_put(to, size, "flatpak", (struct str){app.at, dash ? (size_t)(dash - app.at) : app.len}), true;
        }
        if (str_starts(part, "snap.") && (str_ends(part, ".scope") || str_ends(part, ".service"))) {
            struct str rest = after(part, "snap."), app;
            return str_cut(&rest, '.', &app) ? (container_put(to, size, "snap", app), true) : false;
        }
        if (str_starts(part, "job_") && (str_contains(next, "step_") || (i > 0 && str_starts(path->parts[i - 1], "uid_"))))
            return container_put(to, size, "slurm", after(part, "job_")), true;
        if (str_is(part, "ecs") && next.len)
            return container_put(to, size, "ecs", next), true;
        if (str_is(part, "garden") && next.len)
            return container_put(to, size, "garden", next), true;
    }
    return false;
}

/* The path of a line "4:devices:/docker/ID", "0::/docker/ID". */
static bool path_of_line(struct str line, struct path *ret)
{
    struct str number, controllers;
    if (!str_cut(&line, ':', &number) || (line.len && line.at[0] != ':' && !str_cut(&line, ':', &controllers)))
        return false;
    if (line.len && line.at[0] == ':')
        line = (struct str){line.at + 1, line.len - 1};
    *ret = split(line);
    return true;
}

void container_key(struct str cgroup, struct container_key *ret)
{
    struct str line;
    struct path path;
    *ret = (struct container_key){.uid = -1};
    while (str_cut(&cgroup, '\n', &line))
        if (path_of_line(line, &path) && find_id(&path, ret)) {
            ret->uid = slice_uid(&path);
            return;
        }
}

void container_name(struct str cgroup, char *to, size_t size)
{
    to[0] = '\0';
    struct str line;
    /* A host may mix v1 and v2: any line can have the name, and an ID is better than a name. */
    for (int pass = 0; pass < 2; pass++) {
        struct str rest = cgroup;
        while (str_cut(&rest, '\n', &line)) {
            struct path path;
            if (!path_of_line(line, &path))
                continue;
            if (pass == 0 ? name_by_id(&path, to, size) : name_by_words(&path, to, size))
                return;
        }
    }
}
