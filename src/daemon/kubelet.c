/* SPDX-License-Identifier: Apache-2.0
 * The kubelet's list of pods and their devices.
 *
 *   ListPodResourcesResponse { repeated PodResources pod_resources = 1 }
 *   PodResources             { string name = 1; string namespace = 2; repeated ContainerResources containers = 3 }
 *   ContainerResources       { string name = 1; repeated ContainerDevices devices = 2 }
 *   ContainerDevices         { string resource_name = 1; repeated string device_ids = 2 }
 */
#include "daemon/kubelet.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "net/http.h"
#include "net/protobuf.h"

enum { FRAME = 5, ASK_WITHIN_MS = 5000 };

void kubelet_devices_done(struct kubelet_devices *d)
{
    free(d->list);
    *d = (struct kubelet_devices){0};
}

/* ---- the message ---- */

static int add_device(struct kubelet_devices *d, const struct kubelet_device *one, struct str id)
{
    if (d->count == KUBELET_DEVICES_MAX) {
        d->left_out++;
        return 0;
    }
    if (!d->list && !(d->list = calloc(KUBELET_DEVICES_MAX, sizeof *d->list)))
        return -ENOMEM;
    d->list[d->count] = *one;
    str_copy_clean(d->list[d->count].id, sizeof d->list[0].id, id);
    d->count++;
    return 0;
}

static bool is_of_gpus(const char *resource)
{
    return strcasestr(resource, "gpu") || strcasestr(resource, "mig-");
}

static void text_field(struct str message, unsigned number, char *to, size_t size)
{
    struct pb_field f;
    to[0] = '\0';
    while (pb_next(&message, &f) == 1)
        if (f.number == number && f.bytes.at)
            str_copy_clean(to, size, f.bytes);
}

/* Names may stand behind what they name: they are read first. */
static int take_devices(struct str message, struct kubelet_device *one, struct kubelet_devices *ret)
{
    struct pb_field f;
    int rc;
    text_field(message, 1, one->resource, sizeof one->resource);
    while ((rc = pb_next(&message, &f)) == 1)
        if (f.number == 2 && f.bytes.at && is_of_gpus(one->resource) && (rc = add_device(ret, one, f.bytes)) < 0)
            break;
    return rc;
}

static int take_container(struct str message, struct kubelet_device *one, struct kubelet_devices *ret)
{
    struct pb_field f;
    int rc;
    text_field(message, 1, one->container, sizeof one->container);
    while ((rc = pb_next(&message, &f)) == 1)
        if (f.number == 2 && f.bytes.at && (rc = take_devices(f.bytes, one, ret)) < 0)
            break;
    return rc;
}

static int take_pod(struct str message, struct kubelet_devices *ret)
{
    struct kubelet_device one = {0};
    struct pb_field f;
    int rc;
    text_field(message, 1, one.pod, sizeof one.pod);
    text_field(message, 2, one.space, sizeof one.space);
    while ((rc = pb_next(&message, &f)) == 1)
        if (f.number == 3 && f.bytes.at && (rc = take_container(f.bytes, &one, ret)) < 0)
            break;
    return rc;
}

/* One frame: a byte that says whether it is compressed (never, as we do not offer it), four for the length. */
static bool take_frame(struct str body, struct str *message)
{
    const unsigned char *b = (const unsigned char *)body.at;
    if (body.len < FRAME || b[0] != 0)
        return false;
    size_t len = (size_t)b[1] << 24 | (size_t)b[2] << 16 | (size_t)b[3] << 8 | b[4];
    *message = (struct str){body.at + FRAME, body.len - FRAME};
    return message->len == len;
}

int kubelet_take(struct str body, struct kubelet_devices *ret)
{
    struct str message;
    struct pb_field f;
    int rc;
    *ret = (struct kubelet_devices){0};
    if (!take_frame(body, &message))
        return -EBADMSG;
    while ((rc = pb_next(&message, &f)) == 1)
        if (f.number == 1 && f.bytes.at && (rc = take_pod(f.bytes, ret)) < 0)
            break;
    if (rc < 0)
        kubelet_devices_done(ret);
    return rc;
}

/* ---- the call ---- */

/* The value of a header; its name in lower case, as HTTP/2 writes them. */
static void header_value(struct str headers, const char *name, char *to, size_t size)
{
    struct str line;
    to[0] = '\0';
    while (str_cut(&headers, '\n', &line)) {
        size_t len = strlen(name);
        if (line.len > len && strncasecmp(line.at, name, len) == 0 && line.at[len] == ':')
            str_copy_clean(to, size, str_trim((struct str){line.at + len + 1, line.len - len - 1}));
    }
}

int kubelet_ask(const struct env *env, const _Atomic bool *cancel, struct kubelet_devices *ret, struct error *err)
{
    static const char nothing[FRAME] = {0}; /* the frame of an empty message */
    static const char *const headers[] = {"te: trailers", NULL};
    char path[PATH_SIZE], status[16], message[200];
    AUTO_BUF struct buf answer = BUF(KUBELET_ANSWER_MAX);
    AUTO_BUF struct buf trailers = BUF(64 << 10);
    *ret = (struct kubelet_devices){0};
    if (env_path(env, path, "%s", KUBELET_SOCKET) < 0 || access(path, F_OK) < 0)
        return error_set(err, -ENOENT, "there is no kubelet here");
    if (access(path, R_OK | W_OK) < 0)
        return error_set(err, -errno, "cannot use %s: %s", path, strerror(errno));
    const struct http_request request = {.method = "POST",
                                         .url = "http://localhost/v1.PodResourcesLister/List",
                                         .body = nothing,
                                         .body_len = sizeof nothing,
                                         .content_type = "application/grpc",
                                         .headers = headers,
                                         .unix_socket = path,
                                         .http2 = true,
                                         .timeout_ms = ASK_WITHIN_MS,
                                         .reply_headers = &trailers,
                                         .cancel = cancel};
    int code = http_call(env, &request, &answer, err);
    if (code < 0)
        return code;
    header_value(buf_view(&trailers), "grpc-status", status, sizeof status);
    header_value(buf_view(&trailers), "grpc-message", message, sizeof message);
    if (code != 200 || strcmp(status, "0") != 0)
        return error_set(err, -EIO, "the kubelet answered %d, gRPC status %s%s%s", code, status[0] ? status : "unknown",
                         message[0] ? ": " : "", message);
    int rc = kubelet_take(buf_view(&answer), ret);
    return rc < 0 ? error_set(err, rc, "the kubelet's answer cannot be understood") : 0;
}

/* ---- which GPU ---- */

static bool is_uuid_of(struct str id, const struct gpu *gpu)
{
    return gpu->id.uuid[0] && str_is(id, gpu->id.uuid);
}

/* "NAME0": the number of the device file, which is the index where nothing was left out. */
static bool is_index(struct str id, int index)
{
    size_t letters = 0;
    int64_t number;
    while (letters < id.len && isalpha((unsigned char)id.at[letters]))
        letters++;
    return letters && letters < id.len && str_to_i64((struct str){id.at + letters, id.len - letters}, &number) && number == index;
}

bool kubelet_device_is(const struct kubelet_device *d, const struct gpu *gpu)
{
    struct str id = str_from(d->id);
    const char *shared = strstr(d->id, "::"); /* "UUID::3": the fourth share */
    if (shared)
        id.len = (size_t)(shared - d->id);
    if (is_uuid_of(id, gpu) || (gpu->id.pci_address[0] && str_is(id, gpu->id.pci_address)))
        return true;
    for (size_t i = 0; i < gpu->instance_count; i++)
        if (is_uuid_of(id, &gpu->instances[i]))
            return true;
    const char *part = memchr(id.at, '/', id.len); /* "NAME0/gi3": an instance of it */
    if (part)
        id.len = (size_t)(part - id.at);
    return is_index(id, gpu->index);
}
