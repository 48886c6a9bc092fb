/* SPDX-License-Identifier: Apache-2.0
 * Computes the changes to a Node: one condition, which kubelet and others leave alone, and one taint. Everything else stays. The
 * API treats taints as one list, so we send the whole list with the version of the node that it was made from.
 */
#include <ctype.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/words.h"
#include "cli/node/node.h"

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

bool node_wants_taint(const void *node, const struct node_telling *t, const struct node_verdict *v)
{
    bool had = false, strange = false;
    if (v->fitness != NODE_UNFIT || strcmp(t->effect, "none") == 0)
        return false;
    json_decref(others(node, annotation(node), &had, &strange));
    return !had && !strange;
}

void node_count_list(const void *list, struct node_count *count)
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

void node_taint_patch(const void *node, const struct node_telling *t, const struct node_verdict *v, struct wall now,
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

void node_condition_patch(const void *node, const struct node_verdict *v, struct wall now, struct buf *patch,
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
