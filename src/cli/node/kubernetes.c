/* SPDX-License-Identifier: Apache-2.0
 * Talks to the Kubernetes API server as the pod's service account: reads one node, computes the changes (one condition, which
 * kubelet and others leave alone, and one taint; everything else stays), and patches it if needed. Bounded in time; retries
 * temporary failures, but not refusals.
 */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "ask/cli.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/words.h"
#include "cli/node/node.h"
#include "net/http_client.h"

#define NODE_CONDITION "GpuUnhealthy"
#define NODE_TAINT "whirr/gpu-unhealthy"
#define NODE_ANNOTATION "whirr/taint" /* "CODE:EFFECT" of the taint that we set: we never remove another */

/* ---- the changes to a Node: taints are one list, which is sent whole, with the version that it was made from ---- */

enum { HEARTBEAT_MS = 5 * 60 * 1000 };

static const json_t *list_of(const void *node, const char *part, const char *key)
{
    return json_object_get(json_object_get(node, part), key);
}

static const json_t *find_condition(const void *node)
{
    const json_t *list = list_of(node, "status", "conditions");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (strcmp(json_text(json_array_get(list, i), "type"), NODE_CONDITION) == 0)
            return json_array_get(list, i);
    return NULL;
}

static const char *annotation(const void *node)
{
    return json_text(list_of(node, "metadata", "annotations"), NODE_ANNOTATION);
}

static bool has_our_key(const json_t *taint)
{
    return strcmp(json_text(taint, "key"), NODE_TAINT) == 0;
}

static void taint_words(const char *value, const char *effect, char out[NODE_CODE_SIZE * 2])
{
    snprintf(out, (size_t)NODE_CODE_SIZE * 2, "%.63s:%.30s", value, effect);
}

/* Whether the annotation names this taint. */
static bool is_ours(const json_t *taint, const char *set)
{
    char words[NODE_CODE_SIZE * 2];
    taint_words(json_text(taint, "value"), json_text(taint, "effect"), words);
    return has_our_key(taint) && set[0] && strcmp(words, set) == 0;
}

/* How long the node has been healthy: as the judge remembers, or as its condition says. */
static int64_t well_for(const void *node, const struct node_verdict *v, struct wall now)
{
    const json_t *condition = find_condition(node);
    struct wall since = json_moment(condition, "lastTransitionTime");
    int64_t told = since.ms && strcmp(json_text(condition, "status"), "False") == 0 ? now.ms - since.ms : -1;
    return MAX_OF(v->well_for_ms, told);
}

static void write_patch(const void *node, const char *ours, json_t *taints, struct buf *patch)
{
    AUTO_JSON json_t *body = json_pack("{s:{s:s, s:{s:o}}, s:{s:O}}", "metadata", "resourceVersion",
                                       json_text(json_object_get(node, "metadata"), "resourceVersion"), "annotations",
                                       NODE_ANNOTATION, ours[0] ? json_string(ours) : json_null(), "spec", "taints", taints);
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    if (text)
        buf_text(patch, text);
    else
        patch->failed = true;
    free(text);
}

/* All taints except ours. *strange: one has our key but another value; *had: ours was there. */
static json_t *others(const void *node, const char *set, bool *had, bool *strange)
{
    const json_t *list = list_of(node, "spec", "taints");
    json_t *rest = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *taint = json_array_get(list, i);
        if (is_ours(taint, set)) {
            *had = true;
            continue;
        }
        *strange |= has_our_key(taint);
        json_array_append(rest, taint);
    }
    return rest;
}

/* Whether the brake has to be asked first: the node is unfit, and has no taint of ours yet. */
static bool node_wants_taint(const void *node, const struct node_telling *t, const struct node_verdict *v)
{
    bool had = false, strange = false;
    if (v->fitness != NODE_UNFIT || strcmp(t->effect, "none") == 0)
        return false;
    json_decref(others(node, annotation(node), &had, &strange));
    return !had && !strange;
}

/* Adds the nodes of a NodeList that are judged by us, and those that have our taint. */
static void node_count_list(const void *list, struct node_count *count)
{
    const json_t *items = json_object_get(list, "items");
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *node = json_array_get(items, i);
        bool had = false, strange = false;
        json_decref(others(node, annotation(node), &had, &strange));
        count->nodes += had || find_condition(node);
        count->drained += had;
    }
}

/* Whether our taint may go: only after the node was healthy for long enough. */
static bool may_go(const void *node, const struct node_telling *t, const struct node_verdict *v, struct wall now,
                   struct node_steps *steps)
{
    char wanted[WORDS_SIZE], been[WORDS_SIZE];
    int64_t well_ms = well_for(node, v, now);
    if (v->fitness != NODE_FIT)
        return false;
    if (well_ms >= t->recover_ms || t->recover_ms == 0)
        return true;
    node_step(steps, "taint " NODE_TAINT " stays until the GPUs have been well for %s (now %s)",
              words_duration(t->recover_ms, wanted), well_ms < 0 ? "not known" : words_duration(well_ms, been));
    return false;
}

/* The body of a merge patch for the node; "": no change. */
static void node_taint_patch(const void *node, const struct node_telling *t, const struct node_verdict *v, struct wall now,
                             struct buf *patch, struct node_steps *steps)
{
    const char *set = annotation(node);
    char wanted[NODE_CODE_SIZE * 2] = "";
    bool had = false, strange = false, none = strcmp(t->effect, "none") == 0;
    AUTO_JSON json_t *rest = others(node, set, &had, &strange);
    if (v->fitness == NODE_UNFIT && !none && !steps->held[0])
        taint_words(v->code, t->effect, wanted);
    if (strange && (wanted[0] || v->fitness == NODE_FIT))
        node_step(steps, "taint " NODE_TAINT " was not set by whirr and is left as it is");
    if (wanted[0] && !strange && !(had && strcmp(wanted, set) == 0)) {
        json_array_append_new(rest, json_pack("{s:s, s:s, s:s}", "key", NODE_TAINT, "value", v->code, "effect", t->effect));
        write_patch(node, wanted, rest, patch);
        node_step(steps, "taint " NODE_TAINT "=%s", wanted);
    } else if (steps->held[0]) {
        node_step(steps, "no taint: %s", steps->held);
    } else if (had && !wanted[0] && (none || may_go(node, t, v, now, steps))) {
        write_patch(node, "", rest, patch);
        node_step(steps, "taint " NODE_TAINT " removed");
    }
}

/* ---- the condition ---- */

/* "fan_stopped" -> "FanStopped", the style of reasons. */
static void reason_words(const char *code, char out[NODE_CODE_SIZE])
{
    size_t len = 0;
    bool upper = true;
    for (; *code && len + 1 < NODE_CODE_SIZE; code++) {
        if (isalnum((unsigned char)*code))
            out[len++] = (char)(upper ? toupper((unsigned char)*code) : *code);
        upper = !isalnum((unsigned char)*code);
    }
    out[len] = '\0';
}

/* Kubernetes' timestamps have no fractions. */
static void key_time(struct json_writer *j, const char *key, struct wall at)
{
    char text[WALL_TEXT_SIZE];
    wall_format((struct wall){at.ms / MS_PER_S * MS_PER_S}, text);
    char *dot = strchr(text, '.');
    if (dot)
        memcpy(dot, "Z", 2);
    jw_key_text(j, key, text);
}

/* The same for its status, as a strategic merge patch. */
static void node_condition_patch(const void *node, const struct node_verdict *v, struct wall now, struct buf *patch,
                                 struct node_steps *steps)
{
    static const char *const statuses[] = {[NODE_UNKNOWN] = "Unknown", [NODE_FIT] = "False", [NODE_UNFIT] = "True"};
    const json_t *before = find_condition(node);
    char reason[NODE_CODE_SIZE], message[NODE_MESSAGE_SIZE + NODE_STEP_SIZE + 16];
    snprintf(message, sizeof message, "%s%s%s", v->message, steps->held[0] ? "; not drained: " : "", steps->held);
    reason_words(v->fitness == NODE_UNFIT ? v->code : v->fitness == NODE_FIT ? "healthy" : "not_judged", reason);
    bool same_status = strcmp(json_text(before, "status"), statuses[v->fitness]) == 0;
    bool same = same_status && strcmp(json_text(before, "reason"), reason) == 0;
    struct wall beat = json_moment(before, "lastHeartbeatTime"), turned = json_moment(before, "lastTransitionTime");
    if (same && beat.ms && now.ms - beat.ms < HEARTBEAT_MS && now.ms >= beat.ms)
        return;
    struct json_writer j = JSON_WRITER(patch);
    jw_object(&j);
    jw_key_object(&j, "status");
    jw_key_array(&j, "conditions");
    jw_object(&j);
    jw_key_text(&j, "type", NODE_CONDITION);
    jw_key_text(&j, "status", statuses[v->fitness]);
    jw_key_text(&j, "reason", reason);
    jw_key_text(&j, "message", message);
    key_time(&j, "lastHeartbeatTime", now);
    key_time(&j, "lastTransitionTime", same_status && turned.ms ? turned : now);
    jw_end(&j);
    jw_end(&j);
    jw_end(&j);
    jw_end(&j);
    if (!same)
        node_step(steps, "condition " NODE_CONDITION "=%s (%s)", statuses[v->fitness], reason);
}

/* ---- the API ---- */

enum {
    ANSWER_MAX = 4 << 20,
    TOKEN_MAX = 16384,
    CALL_MS = 10000,
    PAUSE_FIRST_MS = 250,
    PAUSE_MAX_MS = 4000,
    NODE_NAME_MAX = 253,
    LEASE_S = 60, /* longer than a decision takes, so that a killed pod holds others up only briefly */
    LIST_PAGE = 50
};
#define LEASE_NAME "whirr-node-health"

struct api {
    const struct env *env;
    const struct node_telling *t;
    char token[TOKEN_MAX + 32];   /* as a header; "": none */
    char base[512];               /* of all paths, without a slash at its end */
    char node[1024], leases[512]; /* paths */
    char version[64];             /* of the lease, while we hold it; "": we don't */
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
            return error_set(err, -EINVAL, "'%s' contains no token", a->t->token_file);
    snprintf(a->token, sizeof a->token, "Authorization: Bearer %.*s", (int)token.len, token.at);
    return 0;
}

/* The server's message in a Status object; "": none. */
static void said(const struct buf *answer, char out[256])
{
    AUTO_JSON json_t *body = json_loadb(answer->at ? answer->at : "", answer->len, 0, NULL);
    json_copy_text(body, "message", out, 256);
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
static int call(const struct api *a, const char *method, const char *path, const char *type, const struct buf *body,
                const char *what, struct buf *answer, struct error *err)
{
    char url[4096];
    const char *const headers[] = {a->token[0] ? a->token : "Accept: application/json", "Accept: application/json", NULL};
    if ((size_t)snprintf(url, sizeof url, "%s%s", a->base, path) >= sizeof url)
        return error_set(err, -EPROTO, "the API server's path is too long");
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
    char path[sizeof a->node + 16];
    if (body->failed)
        return error_set(err, -ENOMEM, "out of memory");
    snprintf(path, sizeof path, "%s%s", a->node, part);
    return !body->len || a->t->dry_run ? 0 : call(a, "PATCH", path, type, body, what, &answer, err);
}

static int read_node(const struct api *a, json_t **ret, struct error *err)
{
    AUTO_BUF struct buf answer = BUF(ANSWER_MAX);
    int rc = call(a, "GET", a->node, NULL, NULL, "get nodes", &answer, err);
    if (rc < 0)
        return rc;
    json_t *node = json_loadb(answer.at ? answer.at : "", answer.len, 0, NULL);
    if (strcmp(json_text(node, "kind"), "Node") != 0 || !json_text(json_object_get(node, "metadata"), "resourceVersion")[0]) {
        json_decref(node);
        return error_set(err, -EPROTO, "%s is not a Kubernetes API server: it returned no Node", a->t->api);
    }
    *ret = node;
    return 0;
}

/* ---- the brake: one node of the cluster decides at a time, which a Lease makes sure of ---- */

/* Writes the lease for `holder` (NULL: gives it back), as a new one where no version of it is known. */
static int write_lease(struct api *a, const char *holder, const char *version, struct error *err)
{
    AUTO_BUF struct buf body = BUF(8192), answer = BUF(65536);
    char path[sizeof a->leases + sizeof LEASE_NAME + 1], at[WALL_TEXT_SIZE];
    struct json_writer j = JSON_WRITER(&body);
    wall_format(clock_wall(&clock_system), at);
    char *dot = strchr(at, '.');
    if (dot) /* Kubernetes' MicroTime has six digits */
        snprintf(dot, (size_t)(at + sizeof at - dot), ".000000Z");
    jw_object(&j);
    jw_key_text(&j, "apiVersion", "coordination.k8s.io/v1");
    jw_key_text(&j, "kind", "Lease");
    jw_key_object(&j, "metadata");
    jw_key_text(&j, "name", LEASE_NAME);
    if (version)
        jw_key_text(&j, "resourceVersion", version);
    jw_end(&j);
    jw_key_object(&j, "spec");
    if (holder) {
        jw_key_text(&j, "holderIdentity", holder);
        jw_key_text(&j, "acquireTime", at);
    }
    jw_key_text(&j, "renewTime", at);
    jw_key(&j, "leaseDurationSeconds");
    jw_int(&j, holder ? LEASE_S : 1);
    jw_end(&j);
    jw_end(&j);
    snprintf(path, sizeof path, version ? "%s/" LEASE_NAME : "%s", a->leases);
    int rc = call(a, version ? "PUT" : "POST", path, NULL, &body, version ? "update leases" : "create leases", &answer, err);
    AUTO_JSON json_t *lease = rc == 0 ? json_loadb(answer.at ? answer.at : "", answer.len, 0, NULL) : NULL;
    json_copy_text(json_object_get(lease, "metadata"), "resourceVersion", a->version, sizeof a->version);
    return rc;
}

/* 0: we hold the lease; -EAGAIN: another node does, or was faster. */
static int take_lease(struct api *a, struct error *err)
{
    AUTO_BUF struct buf answer = BUF(65536);
    char path[sizeof a->leases + sizeof LEASE_NAME + 1], version[64], holder[NODE_NAME_MAX + 1];
    snprintf(path, sizeof path, "%s/" LEASE_NAME, a->leases);
    int rc = call(a, "GET", path, NULL, NULL, "get leases", &answer, err);
    if (rc == -ENOENT) {
        *err = (struct error){0};
        return write_lease(a, a->t->node, NULL, err);
    }
    if (rc < 0)
        return rc;
    AUTO_JSON json_t *lease = json_loadb(answer.at ? answer.at : "", answer.len, 0, NULL);
    const json_t *spec = json_object_get(lease, "spec");
    json_copy_text(json_object_get(lease, "metadata"), "resourceVersion", version, sizeof version);
    json_copy_text(spec, "holderIdentity", holder, sizeof holder);
    int64_t age_ms = clock_wall(&clock_system).ms - json_moment(spec, "renewTime").ms;
    if (holder[0] && strcmp(holder, a->t->node) != 0 && age_ms < (int64_t)LEASE_S * MS_PER_S)
        return -EAGAIN;
    return write_lease(a, a->t->node, version, err);
}

static int count_nodes(const struct api *a, struct node_count *count, struct error *err)
{
    char next[2048] = "";
    for (;;) {
        AUTO_BUF struct buf path = BUF(3072), answer = BUF(ANSWER_MAX);
        buf_printf(&path, "/api/v1/nodes?limit=%d%s", (int)LIST_PAGE, next[0] ? "&continue=" : "");
        buf_percent(&path, next);
        buf_char(&path, '\0');
        int rc = path.failed ? -EPROTO : call(a, "GET", path.at, NULL, NULL, "list nodes", &answer, err);
        if (rc < 0)
            return rc;
        json_t *list = json_loadb(answer.at ? answer.at : "", answer.len, 0, NULL);
        bool is_list = strcmp(json_text(list, "kind"), "NodeList") == 0;
        json_copy_text(json_object_get(list, "metadata"), "continue", next, sizeof next);
        node_count_list(list, count);
        json_decref(list);
        if (!is_list)
            return error_set(err, -EPROTO, "the API server's list of nodes can't be read");
        if (!next[0])
            return 0;
    }
}

/* Whether this node may be drained: steps->held says why not. The lease is kept until the taint is set. */
static int ask_brake(struct api *a, struct node_steps *steps, struct error *err)
{
    struct node_count count = {0};
    int64_t pause = PAUSE_FIRST_MS;
    if (!node_settled(a->t, steps) || a->t->max_percent >= 100)
        return 0;
    int rc;
    while (!a->t->dry_run && (rc = take_lease(a, err)) != 0) {
        if (rc != -EAGAIN)
            return rc;
        *err = (struct error){0};
        if (node_time_left(a->t) < (int64_t)CALL_MS / 2 + pause) { /* the condition needs its time, too */
            snprintf(steps->held, sizeof steps->held, "the limit of --max-drained is being checked for another node");
            return 0;
        }
        pause_ms(pause);
        pause = MIN_OF(2 * pause, (int64_t)PAUSE_MAX_MS);
    }
    rc = count_nodes(a, &count, err);
    if (rc == 0)
        node_may_drain(a->t, &count, steps);
    return rc;
}

static void leave_lease(struct api *a)
{
    struct error unsaid = {0};
    char version[sizeof a->version];
    str_copy(version, sizeof version, str_from(a->version));
    if (version[0])
        write_lease(a, NULL, version, &unsaid); /* otherwise it expires */
    a->version[0] = '\0';
}

static void add_steps(struct node_steps *to, const struct node_steps *from)
{
    for (size_t i = 0; i < from->count; i++)
        node_step(to, "%s", from->list[i]);
}

/* Reads, compares, patches. The taint goes first: its patch contains the version that was read, which a patch of the status
 * changes. */
static int patch_once(struct api *a, const struct node_verdict *v, struct node_steps *steps, struct error *err)
{
    AUTO_BUF struct buf taint = BUF(ANSWER_MAX), condition = BUF(65536);
    AUTO_JSON json_t *node = NULL;
    struct wall now = clock_wall(&clock_system);
    struct node_steps taint_steps = {0}, condition_steps = {0};
    struct error refused = {0};
    steps->count = 0;
    steps->held[0] = '\0';
    int rc = read_node(a, &node, err);
    if (rc < 0)
        return rc;
    if (node_wants_taint(node, a->t, v) && (rc = ask_brake(a, &taint_steps, &refused)) < 0)
        snprintf(taint_steps.held, sizeof taint_steps.held, "the nodes that are already drained can't be counted");
    str_copy(steps->held, sizeof steps->held, str_from(taint_steps.held));
    str_copy(condition_steps.held, sizeof condition_steps.held, str_from(taint_steps.held));
    node_taint_patch(node, a->t, v, now, &taint, &taint_steps);
    node_condition_patch(node, v, now, &condition, &condition_steps);
    if (rc == 0)
        rc = patch(a, "", "application/merge-patch+json", &taint, "patch nodes", &refused);
    leave_lease(a);
    if (rc == -EAGAIN && !steps->held[0])
        return error_set(err, rc, "%s", refused.text);
    int second = patch(a, "/status", "application/strategic-merge-patch+json", &condition, "patch nodes/status", err);
    if (rc == 0 || steps->held[0]) /* report only completed steps */
        add_steps(steps, &taint_steps);
    if (second == 0)
        add_steps(steps, &condition_steps);
    return second < 0 ? second : rc < 0 ? error_set(err, rc, "%s", refused.text) : 0;
}

/* The account's own namespace, which lies beside its token in a pod, has the lease. */
static void read_namespace(struct api *a)
{
    char file[512], space[64] = "";
    const struct env here = {.sysroot = ""};
    const char *slash = strrchr(a->t->token_file, '/');
    snprintf(file, sizeof file, "%.*snamespace", slash ? (int)(slash + 1 - a->t->token_file) : 0, a->t->token_file);
    bool known = file_read(&here, file, space, sizeof space) > 0;
    struct str name = str_trim(str_from(space));
    for (size_t i = 0; i < name.len; i++)
        known &= (name.at[i] >= 'a' && name.at[i] <= 'z') || (name.at[i] >= '0' && name.at[i] <= '9') || name.at[i] == '-';
    snprintf(a->leases, sizeof a->leases, "/apis/coordination.k8s.io/v1/namespaces/%.*s/leases", known ? (int)name.len : 7,
             known ? name.at : "default");
}

static int api_open(struct api *a, struct error *err)
{
    AUTO_BUF struct buf name = BUF(1024);
    const char *url = a->t->api;
    if (strlen(a->t->node) > NODE_NAME_MAX || strlen(url) >= sizeof a->base)
        return error_set(err, -EINVAL, "the name of the node or the address of the API is too long");
    buf_percent(&name, a->t->node);
    size_t len = strlen(url);
    while (len && url[len - 1] == '/')
        len--;
    snprintf(a->base, sizeof a->base, "%.*s", (int)len, url);
    snprintf(a->node, sizeof a->node, "/api/v1/nodes/%.*s", (int)name.len, name.at);
    read_namespace(a);
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
        rc = patch_once(&a, v, steps, err);
        if (rc != -EAGAIN || node_time_left(t) <= pause)
            return rc;
        pause_ms(pause);
        pause = MIN_OF(2 * pause, (int64_t)PAUSE_MAX_MS);
    }
}
