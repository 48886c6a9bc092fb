/* SPDX-License-Identifier: Apache-2.0
 * The kubelet's list of pods and their devices.
 *
 *   ListPodResourcesResponse { repeated PodResources pod_resources = 1 }
 *   PodResources             { string name = 1; string namespace = 2; repeated ContainerResources containers = 3 }
 *   ContainerResources       { string name = 1; repeated ContainerDevices devices = 2;
 *                              repeated DynamicResource dynamic_resources = 5 }
 *   ContainerDevices         { string resource_name = 1; repeated string device_ids = 2 }
 *   DynamicResource          { repeated ClaimResource claim_resources = 4 }
 *   ClaimResource            { repeated CDIDevice cdi_devices = 1; string driver_name = 2; string device_name = 4 }
 *   CDIDevice                { string name = 1 }
 *
 * Before Kubernetes 1.34 a claim has no device_name, only the name of a CDI device: "VENDOR.com/gpu=NAME".
 *
 * Names of devices from plugins, and from drivers for dynamic resource allocation (DRA):
 *
 *   GPU-..., MIG-...                 UUID; "UUID::3" is its fourth share
 *   0000:63:00.0, 0000-63-00-0-0x56c0  PCI address, the second with the model number
 *   card1-0, gpu-1-129               DRM file: its first share; its card and its render node
 *   NAME0, NAME0/gi3, gpu-0, gpu-0-mig-19-0-1  number of the vendor's device file, and a part of it
 */
#include "remote/kubelet.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "net/http_client.h"
#include "net/protobuf.h"
#include "source/sysfs/sysfs_card.h"

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

/* The name may follow its devices, so read it first. */
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

/* "UID-gpu-0": some drivers create a device per claim. */
static struct str without_claim(struct str name)
{
    enum { UID = 36 };
    static const size_t dashes[] = {8, 13, 18, 23, UID};
    if (name.len <= UID + 1)
        return name;
    for (size_t i = 0; i < ARRAY_LEN(dashes); i++)
        if (name.at[dashes[i]] != '-')
            return name;
    return (struct str){name.at + UID + 1, name.len - UID - 1};
}

static int take_cdi(struct str name, struct kubelet_device *one, struct kubelet_devices *ret)
{
    struct str kind;
    if (!str_cut(&name, '=', &kind) || !name.len)
        return 0;
    str_copy_clean(one->resource, sizeof one->resource, kind);
    return is_of_gpus(one->resource) ? add_device(ret, one, without_claim(name)) : 0;
}

static int take_claim(struct str message, struct kubelet_device *one, struct kubelet_devices *ret)
{
    char device[sizeof one->id], name[256];
    struct pb_field f;
    int rc;
    text_field(message, 2, one->resource, sizeof one->resource);
    text_field(message, 4, device, sizeof device);
    if (device[0])
        return is_of_gpus(one->resource) ? add_device(ret, one, str_from(device)) : 0;
    while ((rc = pb_next(&message, &f)) == 1) {
        if (f.number != 1 || !f.bytes.at)
            continue;
        text_field(f.bytes, 1, name, sizeof name);
        if ((rc = take_cdi(str_from(name), one, ret)) < 0)
            break;
    }
    return rc;
}

static int take_claims(struct str message, struct kubelet_device *one, struct kubelet_devices *ret)
{
    struct pb_field f;
    int rc;
    while ((rc = pb_next(&message, &f)) == 1)
        if (f.number == 4 && f.bytes.at && (rc = take_claim(f.bytes, one, ret)) < 0)
            break;
    return rc;
}

static int take_container(struct str message, struct kubelet_device *one, struct kubelet_devices *ret)
{
    struct pb_field f;
    int rc;
    text_field(message, 1, one->container, sizeof one->container);
    while ((rc = pb_next(&message, &f)) == 1) {
        if (f.number == 2 && f.bytes.at)
            rc = take_devices(f.bytes, one, ret);
        else if (f.number == 5 && f.bytes.at)
            rc = take_claims(f.bytes, one, ret);
        if (rc < 0)
            break;
    }
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

/* One frame: a compression flag (never set, as we don't offer compression) and four bytes of length. */
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

/* The value of a header; its name is in lower case, as in HTTP/2. */
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
    if (env_path(env, path, "%s", KUBELET_SOCKET) < 0 || (access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR)))
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
    if (rc < 0)
        return error_set(err, rc, "the kubelet's answer cannot be understood");
    kubelet_find_files(env, ret);
    return 0;
}

/* ---- matching GPUs ---- */

/* Removes a prefix like "PREFIX12" and returns its number. */
static bool cut_number(struct str *id, const char *prefix, int64_t *ret)
{
    size_t from = strlen(prefix), to = from;
    if (!str_starts(*id, prefix))
        return false;
    while (to < id->len && isdigit((unsigned char)id->at[to]))
        to++;
    if (to == from || !str_to_i64((struct str){id->at + from, to - from}, ret))
        return false;
    *id = (struct str){id->at + to, id->len - to};
    return true;
}

/* "0000-63-00-0": device names can't contain colons. */
static bool dashed_address(struct str id, char ret[GPU_PCI_SIZE])
{
    static const char form[] = "xxxx-xx-xx-x", with[] = "xxxx:xx:xx.x";
    size_t len = sizeof form - 1;
    if (id.len < len || (id.len > len && id.at[len] != '-'))
        return false;
    for (size_t i = 0; i < len; i++)
        if (form[i] == 'x' ? !isxdigit((unsigned char)id.at[i]) : id.at[i] != '-')
            return false;
    for (size_t i = 0; i < len; i++)
        ret[i] = with[i] == 'x' ? (char)tolower((unsigned char)id.at[i]) : with[i];
    ret[len] = '\0';
    return true;
}

/* Finds the DRM file of the name: a card or a render node. */
static bool file_number(struct str id, int64_t *card, int64_t *render)
{
    int64_t number;
    enum { FIRST_RENDER = 128 };
    *card = *render = -1;
    if (cut_number(&id, "card", card))
        return id.len == 0 || id.at[0] == '-';
    return cut_number(&id, "gpu-", &number) && cut_number(&id, "-", render) && id.len == 0 && *render >= FIRST_RENDER;
}

void kubelet_find_files(const struct env *env, struct kubelet_devices *d)
{
    AUTO_FREE struct drm_card *cards = NULL;
    int count = 0;
    for (size_t i = 0; i < d->count; i++) {
        struct kubelet_device *one = &d->list[i];
        int64_t card, render;
        if (dashed_address(str_from(one->id), one->pci) || !file_number(str_from(one->id), &card, &render))
            continue;
        if (!cards) { /* read sysfs only if a name needs it */
            cards = calloc(GPU_MAX, sizeof *cards);
            count = cards ? drm_cards_list(env, cards, GPU_MAX) : 0;
        }
        char name[32];
        snprintf(name, sizeof name, "card%lld", (long long)card);
        for (int k = 0; k < count; k++)
            if (card >= 0 ? strcmp(cards[k].name, name) == 0 : cards[k].render_minor == render)
                str_copy(one->pci, sizeof one->pci, str_from(cards[k].pci_address));
    }
}

static bool is_uuid_of(struct str id, const struct gpu *gpu)
{
    return gpu->id.uuid[0] && str_is(id, gpu->id.uuid);
}

/* The vendor's device file, which is unique per number: "NAME0", "gpu-0". A part of it may follow. */
static bool is_file_of(struct str id, const struct gpu *gpu)
{
    size_t letters = 0;
    int64_t number;
    while (letters < id.len && isalpha((unsigned char)id.at[letters]))
        letters++;
    if (!letters)
        return false;
    letters += str_starts(id, "gpu-");
    id = (struct str){id.at + letters, id.len - letters};
    return cut_number(&id, "", &number) && (id.len == 0 || id.at[0] == '/' || id.at[0] == '-') &&
           number == reading_or(gpu->device_minor, gpu->index);
}

bool kubelet_device_is(const struct kubelet_device *d, const struct gpu *gpu)
{
    struct str id = str_from(d->id);
    const char *shared = strstr(d->id, "::"); /* "UUID::3": the fourth share */
    if (d->pci[0])
        return strcmp(d->pci, gpu->id.pci_address) == 0;
    if (shared)
        id.len = (size_t)(shared - d->id);
    if (is_uuid_of(id, gpu) || (gpu->id.pci_address[0] && str_is(id, gpu->id.pci_address)))
        return true;
    for (size_t i = 0; i < gpu->instance_count; i++)
        if (is_uuid_of(id, &gpu->instances[i]))
            return true;
    int64_t card, render;
    return gpu->id.vendor[0] && strcasestr(d->resource, gpu->id.vendor) && !file_number(id, &card, &render) && is_file_of(id, gpu);
}
