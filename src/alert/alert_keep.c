/* SPDX-License-Identifier: Apache-2.0
 * Alerts and silences to and from JSON.
 */
#include "alert/alert.h"

#include <errno.h>
#include <jansson.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/json_writer.h"

enum { KEEP_VERSION = 1 };

ANSWER_NAMES(severities, enum severity, severity_text, SEVERITY_INFO, SEVERITY_CRITICAL);
ANSWER_NAMES(scopes, enum alert_scope, scope_name, SCOPE_HOST, SCOPE_PROCESS);
ANSWER_NAMES(phases, enum alert_phase, alert_phase_name, ALERT_PENDING, ALERT_RESOLVED);

/* Milliseconds; left out where it is not set. */
#define TIME(key, member) FIELD(INT, key, member.ms, NULL, PRESENT(member.ms), MAYBE)

static const void *next_fired(const struct answer_at *at, struct answer_step *step)
{
    const struct alert *a = at->record;
    const struct wall *fired = step->at < ALERT_FLAPS ? &a->state.fired[step->at++] : NULL;
    return fired && fired->ms ? &fired->ms : NULL;
}

ANSWER_TABLE(kept_alert, struct alert)
{
    FIELD(TEXT, "alert", rule, NULL);
    FIELD(NAME, "severity", severity, NULL, NAMES(severities));
    FIELD(NAME, "scope", scope, NULL, NAMES(scopes));
    FIELD(INT, "gpu_index", gpu_index, NULL);
    FIELD(TEXT, "gpu_uuid", gpu_uuid, NULL);
    FIELD(TEXT, "gpu_name", gpu_name, NULL);
    FIELD(BOOL, "simulated", simulated, NULL);
    FIELD(TEXT, "host", host, NULL);
    FIELD(INT, "pid", pid, NULL);
    FIELD(INT, "start_key", start_key, NULL);
    FIELD(TEXT, "process", process, NULL);
    FIELD(TEXT, "user", user, NULL);
    FIELD(NAME, "state", state.phase, NULL, NAMES(phases));
    TIME("pending_at", state.pending_at);
    TIME("calm_at", state.calm_at);
    TIME("known_at", state.known_at);
    TIME("started_at", state.started_at);
    TIME("ended_at", state.ended_at);
    EACH(INT, "fired", next_fired, NULL);
    FIELD(BOOL, "flapping", state.flapping, NULL);
    FIELD(BOOL, "lapsed", state.lapsed, NULL);
    FIELD(NUMBER, "value", value, NULL, PRESENT(has_value), MAYBE);
    FIELD(TEXT, "summary", summary, NULL);
    FIELD(LINES, "notify", notify, NULL);
    FIELD(TEXT, "silenced_by", silenced_by, NULL);
    FIELD(BOOL, "told", sent, NULL);
    PAIRS(TEXT, "labels", labels, label_count, NULL);
}

ANSWER_TABLE(kept_matcher, struct silence_matcher)
{
    FIELD(TEXT, "key", key, NULL);
    FIELD(TEXT, "value", value, NULL);
}

ANSWER_TABLE(kept_silence, struct silence)
{
    FIELD(TEXT, "id", id, NULL);
    TIME("created_at", created_at);
    TIME("until", until);
    FIELD(TEXT, "comment", comment, NULL);
    FIELD(TEXT, "created_by", created_by, NULL);
    OBJECTS("matchers", matchers, matcher_count, kept_matcher, NULL);
}

ANSWER_MAKER(make_version, struct alert_set, number, of ? KEEP_VERSION : 0);

static const void *next_alert(const struct answer_at *at, struct answer_step *step)
{
    const struct alert_set *set = at->record;
    return step->at < set->count ? set->list[step->at++] : NULL;
}

ANSWER_TABLE(kept_set, struct alert_set)
{
    MADE(INT, "version", make_version, NULL);
    TIME("saved_at", last_at);
    FIELD(INT, "next_silence", silences.next_id, NULL);
    EACH(OBJECT, "alerts", next_alert, NULL, FIELDS(kept_alert));
    OBJECTS("silences", silences.list, silences.count, kept_silence, NULL);
}

void alert_keep_write(struct buf *out, const struct alert_set *set)
{
    answer_write(JSON_LINE(out), &kept_set, set, NULL);
}

/* ---- reading ---- */

static int64_t get_int(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

/* Returns 0 for an implausible time, so that no calculation uses it. */
static struct wall sane_time(int64_t ms)
{
    enum { YEARS = 1000 };
    return (struct wall){ms > 0 && ms < YEARS * 366LL * 86400 * MS_PER_S ? ms : 0};
}

static void read_alert(struct alert_set *set, const json_t *o)
{
    static const char *const needed[] = {"alert", "severity", "scope", "state"};
    struct alert a = {0};
    struct alert_state *s = &a.state;
    struct wall *const times[] = {&s->pending_at, &s->calm_at, &s->known_at, &s->started_at, &s->ended_at};
    bool fine = answer_read(&kept_alert, o, &a, NULL) && a.gpu_index >= -1 && a.gpu_index < GPU_MAX && a.pid >= 0;
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        fine &= json_text(o, needed[i])[0] != '\0';
    for (size_t i = 0; i < ARRAY_LEN(times); i++)
        *times[i] = sane_time(times[i]->ms);
    for (size_t i = 0; i < ALERT_FLAPS; i++)
        s->fired[i] = sane_time(json_integer_value(json_array_get(json_object_get(o, "fired"), i)));
    fine &= (s->phase != ALERT_PENDING || s->pending_at.ms) && (s->phase != ALERT_FIRING || s->started_at.ms) &&
            (s->phase != ALERT_RESOLVED || s->ended_at.ms);
    struct alert *to = fine ? alert_add(set) : NULL;
    if (to)
        *to = a;
}

static void read_silence(struct silences *all, const json_t *o)
{
    struct silence s = {0};
    bool fine = answer_read(&kept_silence, o, &s, NULL); /* with only some of its matchers it would silence too much */
    s.created_at = sane_time(s.created_at.ms);
    s.until = sane_time(s.until.ms);
    for (size_t i = 0; i < s.matcher_count; i++)
        fine &= s.matchers[i].key[0] && s.matchers[i].value[0];
    if (fine && s.id[0] && s.matcher_count && s.until.ms && all->count < SILENCES_MAX)
        all->list[all->count++] = s;
}

int alert_keep_read(struct alert_set *set, struct str text, struct error *err)
{
    json_error_t where;
    json_t *root = json_loadb(text.at, text.len, JSON_REJECT_DUPLICATES, &where), *o;
    size_t i;
    if (!json_is_object(root) || get_int(root, "version") != KEEP_VERSION) {
        bool newer = json_is_object(root) && get_int(root, "version") > KEEP_VERSION;
        json_decref(root);
        return error_set(err, -EINVAL, newer ? "it was written by a newer version" : "it is damaged");
    }
    json_array_foreach(json_object_get(root, "alerts"), i, o) read_alert(set, o);
    json_array_foreach(json_object_get(root, "silences"), i, o) read_silence(&set->silences, o);
    set->silences.next_id = (uint32_t)get_int(root, "next_silence");
    set->last_at = sane_time(get_int(root, "saved_at"));
    json_decref(root);
    return 0;
}
