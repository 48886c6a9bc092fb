/* SPDX-License-Identifier: Apache-2.0
 * Talks to the Kubernetes API server as the pod's service account: reads one node, and patches it if needed. Bounded in time;
 * retries temporary failures, but not refusals.
 */
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "ask/cli.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "cli/node/node.h"
#include "net/http_client.h"

enum { ANSWER_MAX = 4 << 20, TOKEN_MAX = 16384, CALL_MS = 10000, PAUSE_FIRST_MS = 250, PAUSE_MAX_MS = 4000, NODE_NAME_MAX = 253 };

struct api {
    const struct env *env;
    const struct node_telling *t;
    char token[TOKEN_MAX + 32]; /* as a header; "": none */
    char url[1024];
};

int64_t node_time_left(const struct node_telling *t)
{
    return MAX_OF(mono_since_ms(t->deadline, clock_mono(&clock_system)), (int64_t)1);
}

/* Reads the token each time: the kubelet replaces it long before it expires. */
static int read_token(struct api *a, struct error *err)
{
    char text[TOKEN_MAX];
    const struct env here = {.sysroot = ""};
    if (strncmp(a->t->api, "http://", 7) == 0)
        return 0; /* kubectl proxy on this host has its own */
    ssize_t got = file_read(&here, a->t->token_file, text, sizeof text);
    if (got < 0)
        return error_set(
            err, (int)got,
            "cannot read the service account's token '%s': %s; in a pod, set automountServiceAccountToken, elsewhere name "
            "one with --token-file",
            a->t->token_file, strerror((int)-got));
    struct str token = str_trim(str_from(text));
    for (size_t i = 0; i < token.len; i++)
        if (token.at[i] < '!' || token.at[i] > '~')
            return error_set(err, -EINVAL, "'%s' holds no token", a->t->token_file);
    snprintf(a->token, sizeof a->token, "Authorization: Bearer %.*s", (int)token.len, token.at);
    return 0;
}

/* The server's message in a Status object; "": none. */
static void said(const struct buf *answer, char out[256])
{
    json_t *body = json_loadb(answer->at ? answer->at : "", answer->len, 0, NULL);
    json_copy_text(body, "message", out, 256);
    json_decref(body);
}

static int explain_status(const struct api *a, const char *what, int status, const struct buf *answer, struct error *err)
{
    char words[256];
    said(answer, words);
    const char *colon = words[0] ? ": " : "";
    switch (status) {
    case 401:
        return error_set(err, -EACCES,
                         "the API server does not accept the token of '%s' (401): it has expired, or is of another cluster%s%s",
                         a->t->token_file, colon, words);
    case 403:
        return error_set(err, -EPERM,
                         "the service account may not %s (403)%s%s; give it the ClusterRole whirr-node-health of the manifests",
                         what, colon, words);
    case 404: return error_set(err, -ENOENT, "the cluster has no node '%s' (404); name it with --node or NODE_NAME", a->t->node);
    case 409:
        return error_set(err, -EAGAIN, "node '%s' was changed by others at the same time (409)%s%s", a->t->node, colon, words);
    default:
        return error_set(err, status == 429 || status >= 500 ? -EAGAIN : -EPROTO, "the API server answered %d to %s%s%s", status,
                         what, colon, words);
    }
}

/* 0, or -errno; -EAGAIN: worth a retry. */
static int call(const struct api *a, const char *method, const char *part, const char *type, const struct buf *body,
                const char *what, struct buf *answer, struct error *err)
{
    char url[sizeof a->url + 16];
    const char *const headers[] = {a->token[0] ? a->token : "Accept: application/json", "Accept: application/json", NULL};
    snprintf(url, sizeof url, "%s%s", a->url, part);
    const struct http_request request = {
        .method = method,
        .url = url,
        .body = body ? body->at : NULL,
        .body_len = body ? body->len : 0,
        .content_type = type,
        .headers = a->token[0] ? headers : headers + 1,
        .connect_timeout_ms = MIN_OF(node_time_left(a->t), (int64_t)CALL_MS / 2),
        .timeout_ms = MIN_OF(node_time_left(a->t), (int64_t)CALL_MS),
        .tls_ca = a->token[0] && a->t->ca_file[0] ? a->t->ca_file : NULL,
    };
    int status = http_call(a->env, &request, answer, err);
    if (status < 0) {
        error_prefix(err, "the API server of Kubernetes can't be reached");
        return status == -ENOSYS || status == -EACCES || status == -EFBIG ? status : -EAGAIN;
    }
    return status >= 200 && status < 300 ? 0 : explain_status(a, what, status, answer, err);
}

static int patch(const struct api *a, const char *part, const char *type, const struct buf *body, const char *what,
                 struct error *err)
{
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX);
    if (body->failed)
        return error_set(err, -ENOMEM, "out of memory");
    return !body->len || a->t->dry_run ? 0 : call(a, "PATCH", part, type, body, what, &answer, err);
}

static int read_node(const struct api *a, json_t **ret, struct error *err)
{
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX);
    int rc = call(a, "GET", "", NULL, NULL, "get nodes", &answer, err);
    if (rc < 0)
        return rc;
    json_t *node = json_loadb(answer.at ? answer.at : "", answer.len, 0, NULL);
    if (strcmp(json_text(node, "kind"), "Node") != 0 || !json_text(json_object_get(node, "metadata"), "resourceVersion")[0]) {
        json_decref(node);
        return error_set(err, -EPROTO, "what answers at %s is no API server of Kubernetes: no Node came", a->t->api);
    }
    *ret = node;
    return 0;
}

static void add_steps(struct node_steps *to, const struct node_steps *from)
{
    for (size_t i = 0; i < from->count; i++)
        node_step(to, "%s", from->list[i]);
}

/* Reads, compares, patches. The taint goes first: its patch contains the version that was read, which a patch of the status
 * changes. */
static int tell_once(const struct api *a, const struct node_verdict *v, struct node_steps *steps, struct error *err)
{
    AUTO_BUF struct buf taint = BUF(ANSWER_MAX), condition = BUF(65536);
    json_t *node = NULL;
    struct wall now = clock_wall(&clock_system);
    struct node_steps taint_steps = {0}, condition_steps = {0};
    struct error refused = {0};
    steps->count = 0;
    int rc = read_node(a, &node, err);
    if (rc < 0)
        return rc;
    node_taint_patch(node, a->t, v, now, &taint, &taint_steps);
    node_condition_patch(node, v, now, &condition, &condition_steps);
    json_decref(node);
    rc = patch(a, "", "application/merge-patch+json", &taint, "patch nodes", &refused);
    if (rc == -EAGAIN)
        return error_set(err, rc, "%s", refused.text);
    int second = patch(a, "/status", "application/strategic-merge-patch+json", &condition, "patch nodes/status", err);
    if (rc == 0) /* report only completed steps */
        add_steps(steps, &taint_steps);
    if (second == 0)
        add_steps(steps, &condition_steps);
    return second < 0 ? second : rc < 0 ? error_set(err, rc, "%s", refused.text) : 0;
}

static int api_open(struct api *a, struct error *err)
{
    AUTO_BUF struct buf name = BUF(1024);
    const char *url = a->t->api;
    if (strlen(a->t->node) > NODE_NAME_MAX || strlen(url) > sizeof a->url - 4 * (NODE_NAME_MAX + 8))
        return error_set(err, -EINVAL, "the name of the node or the address of the API is too long");
    buf_percent(&name, a->t->node);
    size_t len = strlen(url);
    while (len && url[len - 1] == '/')
        len--;
    snprintf(a->url, sizeof a->url, "%.*s/api/v1/nodes/%.*s", (int)len, url, (int)name.len, name.at);
    return read_token(a, err);
}

int node_tell_kubernetes(const struct env *env, const struct node_telling *t, const struct node_verdict *v,
                         struct node_steps *steps, struct error *err)
{
    struct api a = {.env = env, .t = t};
    int64_t pause = PAUSE_FIRST_MS;
    int rc = api_open(&a, err);
    if (rc < 0)
        return rc;
    for (;;) {
        rc = tell_once(&a, v, steps, err);
        if (rc != -EAGAIN || node_time_left(t) <= pause)
            return rc;
        pause_ms(pause);
        pause = MIN_OF(2 * pause, (int64_t)PAUSE_MAX_MS);
    }
}
