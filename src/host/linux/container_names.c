/* SPDX-License-Identifier: Apache-2.0
 * Names of containers, from the state files of their runtimes, else from the runtime's socket, which a group may use. An unreadable
 * file is a reason, not an error. These files hold environments with secrets: only names are extracted, and recordings never see
 * them.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_reader.h"
#include "host/identity.h"
#include "host/linux/process_files.h"

enum { STATE_MAX = 8 << 20, ENTRIES_MAX = 20000, SOCKET_WITHIN_MS = 300 };

static int read_json(const struct env *env, const char *path, json_t **ret)
{
    AUTO_BUF struct buf text = BUF(STATE_MAX);
    int rc = file_read_all(env, path, &text);
    if (rc < 0)
        return rc;
    *ret = json_loadb(buf_view(&text).at, text.len, 0, NULL);
    return *ret ? 0 : -EBADMSG;
}

static int put_name(const char *name, char *to, size_t size)
{
    str_copy_clean(to, size, str_from(name));
    return to[0] ? 0 : -ENOENT;
}

static int put_pod(const char *space, const char *pod, const char *container, char *to, size_t size)
{
    char text[512];
    if (!pod[0])
        return -ENOENT;
    snprintf(text, sizeof text, "%s%s%s%s%s", space, space[0] ? "/" : "", pod, container[0] ? "/" : "", container);
    return put_name(text, to, size);
}

/* "k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT", from dockershim and CRI-O. */
static int put_any(const char *name, char *to, size_t size)
{
    struct str rest = str_from(name), part[4];
    if (!str_starts(rest, "k8s_"))
        return put_name(name, to, size);
    char words[4][256];
    for (size_t i = 0; i < ARRAY_LEN(part); i++) {
        if (!str_cut(&rest, '_', &part[i]))
            return put_name(name, to, size);
        str_copy(words[i], sizeof words[i], part[i]);
    }
    return put_pod(words[3], words[2], words[1], to, size);
}

static int from_docker(const struct env *env, const struct container_key *key, char *to, size_t size)
{
    char path[PATH_SIZE];
    AUTO_JSON json_t *state = NULL;
    snprintf(path, sizeof path, "/var/lib/docker/containers/%s/config.v2.json", key->id);
    int rc = read_json(env, path, &state);
    if (rc < 0)
        return rc;
    const char *name = json_text(state, "Name");
    return put_any(name + (name[0] == '/'), to, size);
}

/* A user's home directory from the passwd file. */
static bool home_of(const struct env *env, int64_t uid, char *home, size_t size)
{
    AUTO_BUF struct buf text = BUF(1 << 20);
    if (uid < 0 || file_read_all(env, "/etc/passwd", &text) < 0)
        return false;
    struct str rest = buf_view(&text), line, field[6];
    while (str_cut(&rest, '\n', &line)) {
        size_t count = 0;
        int64_t number;
        while (count < ARRAY_LEN(field) && str_cut(&line, ':', &field[count]))
            count++;
        if (count == ARRAY_LEN(field) && str_to_i64(field[2], &number) && number == uid) {
            str_copy(home, size, field[5]);
            return home[0] == '/';
        }
    }
    return false;
}

/* Podman and CRI-O list all containers with their names. */
static int from_storage(const struct env *env, const struct container_key *key, char *to, size_t size)
{
    static const char *const lists[] = {"containers.json", "volatile-containers.json"};
    char home[256], folder[PATH_SIZE], path[PATH_SIZE + 32];
    if (key->uid > 0 && home_of(env, key->uid, home, sizeof home))
        snprintf(folder, sizeof folder, "%s/.local/share/containers/storage/overlay-containers", home);
    else
        snprintf(folder, sizeof folder, "/var/lib/containers/storage/overlay-containers");
    int result = -ENOENT;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        AUTO_JSON json_t *list = NULL;
        snprintf(path, sizeof path, "%s/%s", folder, lists[i]);
        int rc = read_json(env, path, &list);
        if (rc < 0 && result == -ENOENT)
            result = rc;
        size_t at;
        json_t *one;
        json_array_foreach(list, at, one)
        {
            const char *name = json_string_value(json_array_get(json_object_get(one, "names"), 0));
            if (strcmp(json_text(one, "id"), key->id) == 0 && name)
                return put_any(name, to, size);
        }
    }
    return result;
}

/* A task's bundle: annotations of Kubernetes and nerdctl. */
static int from_containerd(const struct env *env, const struct container_key *key, char *to, size_t size)
{
    static const char *const roots[] = {"k8s.io", "default", "moby"};
    int result = -ENOENT;
    for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
        char path[PATH_SIZE];
        AUTO_JSON json_t *spec = NULL;
        snprintf(path, sizeof path, "/run/containerd/io.containerd.runtime.v2.task/%s/%s/config.json", roots[i], key->id);
        int rc = read_json(env, path, &spec);
        if (rc < 0 && rc != -ENOENT)
            result = rc;
        if (rc < 0)
            continue;
        const json_t *notes = json_object_get(spec, "annotations");
        if (put_pod(json_text(notes, "io.kubernetes.cri.sandbox-namespace"), json_text(notes, "io.kubernetes.cri.sandbox-name"),
                    json_text(notes, "io.kubernetes.cri.container-name"), to, size) == 0 ||
            put_name(json_text(notes, "nerdctl/name"), to, size) == 0)
            return 0;
    }
    return result;
}

/* kubelet's logs: "/var/log/containers/POD_NAMESPACE_CONTAINER-ID.log", "/var/log/pods/NAMESPACE_POD_UID". Any user may list
 * them. */
static int from_logs(const struct env *env, const struct container_key *key, char *to, size_t size)
{
    static const char *const folders[] = {"/var/log/containers", "/var/log/pods"};
    char tail[80], words[3][256];
    int result = -ENOENT;
    for (size_t k = 0; k < ARRAY_LEN(folders); k++) {
        bool pods = k == 1;
        if (pods && !key->pod[0])
            continue;
        snprintf(tail, sizeof tail, pods ? "_%s" : "-%s.log", pods ? key->pod : key->id);
        AUTO_DIR DIR *dir = dir_open(env, folders[k]);
        if (!dir) {
            result = result == -ENOENT ? -errno : result;
            continue;
        }
        struct dirent *entry;
        for (int i = 0; i < ENTRIES_MAX && (entry = readdir(dir)); i++) {
            struct str name = str_from(entry->d_name), part;
            if (!str_ends(name, tail))
                continue;
            name.len -= strlen(tail);
            words[2][0] = '\0';
            for (size_t w = 0; w < (pods ? 2u : 3u) && str_cut(&name, '_', &part); w++)
                str_copy(words[w], sizeof words[w], part);
            return pods ? put_pod(words[0], words[1], "", to, size) : put_pod(words[1], words[0], words[2], to, size);
        }
    }
    return result;
}

/* ---- the runtime's socket ---- */

/* Once per container; a hung runtime must not delay the sample. */
static int talk_to(const char *path, const char *request, struct buf *answer)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval limit = {.tv_usec = SOCKET_WITHIN_MS * 1000};
    if (strlen(path) >= sizeof address.sun_path)
        return -ENOENT;
    memcpy(address.sun_path, path, strlen(path));
    AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        return errno == ECONNREFUSED ? -ENOENT : -errno; /* a stale socket */
    if (send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
        return -EIO;
    for (char piece[8192];;) {
        ssize_t n = recv(fd, piece, sizeof piece, 0);
        if (n < 0)
            return errno == EAGAIN ? -ETIMEDOUT : -errno;
        if (n == 0)
            return answer->failed ? -EFBIG : 0;
        buf_add(answer, piece, (size_t)n);
    }
}

/* GET /containers/ID/json works for both Docker and Podman. With HTTP/1.0 the answer ends with the connection, in one piece. */
static int ask_socket(const struct env *env, const char *socket, const struct container_key *key, char *to, size_t size)
{
    char path[PATH_SIZE], request[256];
    AUTO_BUF struct buf answer = BUF(STATE_MAX);
    if (env_path(env, path, "%s", socket) < 0)
        return -ENOENT;
    snprintf(request, sizeof request, "GET /containers/%s/json HTTP/1.0\r\nHost: localhost\r\n\r\n", key->id);
    int rc = talk_to(path, request, &answer);
    if (rc < 0)
        return rc;
    struct str text = buf_view(&answer);
    const char *body = memmem(text.at, text.len, "\r\n\r\n", 4);
    if (!body || !(str_starts(text, "HTTP/1.0 200") || str_starts(text, "HTTP/1.1 200")))
        return -ENOENT; /* it doesn't know this container */
    AUTO_JSON json_t *state = json_loadb(body + 4, text.len - (size_t)(body + 4 - text.at), 0, NULL);
    const char *name = json_text(state, "Name");
    return state ? put_any(name + (name[0] == '/'), to, size) : -EBADMSG;
}

static int from_docker_socket(const struct env *env, const struct container_key *key, char *to, size_t size)
{
    char own[64];
    int rc = ask_socket(env, "/run/docker.sock", key, to, size);
    if (rc == 0 || key->uid <= 0)
        return rc;
    snprintf(own, sizeof own, "/run/user/%lld/docker.sock", (long long)key->uid); /* rootless */
    return ask_socket(env, own, key, to, size);
}

static int from_podman_socket(const struct env *env, const struct container_key *key, char *to, size_t size)
{
    char own[64];
    if (key->uid <= 0)
        return ask_socket(env, "/run/podman/podman.sock", key, to, size);
    snprintf(own, sizeof own, "/run/user/%lld/podman/podman.sock", (long long)key->uid);
    return ask_socket(env, own, key, to, size);
}

typedef int label_fn(const struct env *env, const struct container_key *key, char *to, size_t size);

static const struct {
    const char *runtime;
    label_fn *ask[4];
} runtimes[] = {
    {"docker", {from_docker, from_docker_socket}},
    {"podman", {from_storage, from_podman_socket}},
    {"containerd", {from_containerd}},
    {"crio", {from_storage}},
    {"k8s", {from_logs, from_containerd, from_storage, from_docker}},
};

enum reading_state container_label(const struct env *env, struct str cgroup, const char *container, char *to, size_t size)
{
    to[0] = '\0';
    if (!container[0])
        return READING_UNREAD;
    struct container_key key;
    container_key(cgroup, &key);
    if (!key.runtime) { /* the cgroup contains the name */
        const char *colon = strchr(container, ':');
        return put_name(colon ? colon + 1 : container, to, size) == 0 ? READING_OK : READING_UNSUPPORTED;
    }
    struct env quiet = unrecorded(env);
    enum reading_state why = READING_UNSUPPORTED;
    for (size_t i = 0; i < ARRAY_LEN(runtimes); i++)
        for (size_t k = 0; strcmp(runtimes[i].runtime, key.runtime) == 0 && k < ARRAY_LEN(runtimes[i].ask); k++) {
            int rc = runtimes[i].ask[k] ? runtimes[i].ask[k](&quiet, &key, to, size) : -ENOENT;
            if (rc == 0)
                return READING_OK;
            if (rc != -ENOENT) /* an unreadable file might have had it */
                why = reading_state_from_errno(rc);
        }
    return why;
}
