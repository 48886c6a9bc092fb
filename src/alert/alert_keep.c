/* SPDX-License-Identifier: Apache-2.0
 * Alerts and silences to and from JSON.
 */
#include "alert/alert.h"

#include <errno.h>
#include <jansson.h>

#include "alert/alert_list.h"
#include "base/json_reader.h"
#include "base/json_writer.h"

enum { KEEP_VERSION = 1 };

/* ---- writing ---- */

static void key_time(struct json_writer *j, const char *key, struct wall at)
{
    if (at.ms)
        jw_key_int(j, key, at.ms);
}

static void write_state(struct json_writer *j, const struct alert_state *s)
{
    jw_key_text(j, "state", alert_phase_name(s->phase));
    key_time(j, "pending_at", s->pending_at);
    key_time(j, "calm_at", s->calm_at);
    key_time(j, "known_at", s->known_at);
    key_time(j, "started_at", s->started_at);
    key_time(j, "ended_at", s->ended_at);
    jw_key_array(j, "fired");
    for (size_t i = 0; i < ALERT_FLAPS && s->fired[i].ms; i++)
        jw_int(j, s->fired[i].ms);
    jw_end(j);
    jw_key_bool(j, "flapping", s->flapping);
    jw_key_bool(j, "lapsed", s->lapsed);
}

static void write_alert(struct json_writer *j, const struct alert *a)
{
    jw_object(j);
    jw_key_text(j, "alert", a->rule);
    jw_key_text(j, "severity", severity_text(a->severity));
    jw_key_text(j, "scope", scope_name(a->scope));
    jw_key_int(j, "gpu_index", a->gpu_index);
    jw_key_text(j, "gpu_uuid", a->gpu_uuid);
    jw_key_text(j, "gpu_name", a->gpu_name);
    jw_key_bool(j, "simulated", a->simulated);
    jw_key_text(j, "host", a->host);
    jw_key_int(j, "pid", a->pid);
    jw_key_int(j, "start_key", a->start_key);
    jw_key_text(j, "process", a->process);
    jw_key_text(j, "user", a->user);
    write_state(j, &a->state);
    if (a->has_value)
        jw_key_number(j, "value", a->value);
    jw_key_text(j, "summary", a->summary);
    jw_key_array(j, "notify");
    struct str rest = str_from(a->notify), line;
    while (str_cut(&rest, '\n', &line))
        jw_str(j, line);
    jw_end(j);
    jw_key_text(j, "silenced_by", a->silenced_by);
    jw_key_bool(j, "told", a->sent);
    jw_key_object(j, "labels");
    for (size_t i = 0; i < a->label_count; i++)
        jw_key_text(j, a->labels[i].key, a->labels[i].value);
    jw_end(j);
    jw_end(j);
}

static void write_silence(struct json_writer *j, const struct silence *s)
{
    jw_object(j);
    jw_key_text(j, "id", s->id);
    key_time(j, "created_at", s->created_at);
    key_time(j, "until", s->until);
    jw_key_text(j, "comment", s->comment);
    jw_key_text(j, "created_by", s->created_by);
    jw_key_array(j, "matchers");
    for (size_t i = 0; i < s->matcher_count; i++) {
        jw_object(j);
        jw_key_text(j, "key", s->matchers[i].key);
        jw_key_text(j, "value", s->matchers[i].value);
        jw_end(j);
    }
    jw_end(j);
    jw_end(j);
}

void alert_keep_write(struct buf *out, const struct alert_set *set)
{
    struct json_writer j = JSON_WRITER(out);
    jw_object(&j);
    jw_key_int(&j, "version", KEEP_VERSION);
    key_time(&j, "saved_at", set->last_at);
    jw_key_int(&j, "next_silence", set->silences.next_id);
    jw_key_array(&j, "alerts");
    for (size_t i = 0; i < set->count; i++)
        write_alert(&j, set->list[i]);
    jw_end(&j);
    jw_key_array(&j, "silences");
    for (size_t i = 0; i < set->silences.count; i++)
        write_silence(&j, &set->silences.list[i]);
    jw_end(&j);
    jw_end(&j);
    buf_char(out, '\n');
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

static struct wall get_time(const json_t *o, const char *key)
{
    return sane_time(get_int(o, key));
}

static bool get_choice(const json_t *o, const char *key, const char *(*name)(int), int count, int *ret)
{
    const char *text = json_string_value(json_object_get(o, key));
    for (int i = 0; text && i < count; i++)
        if (strcmp(text, name(i)) == 0) {
            *ret = i;
            return true;
        }
    return false;
}

static const char *severity_word(int i)
{
    return severity_text((enum severity)i);
}

static const char *scope_word(int i)
{
    return scope_name((enum alert_scope)i);
}

static bool read_state(const json_t *o, struct alert_state *s)
{
    const char *phase = json_string_value(json_object_get(o, "state"));
    if (!phase || !alert_phase_from_name(phase, &s->phase) || s->phase == ALERT_INACTIVE)
        return false;
    s->pending_at = get_time(o, "pending_at");
    s->calm_at = get_time(o, "calm_at");
    s->known_at = get_time(o, "known_at");
    s->started_at = get_time(o, "started_at");
    s->ended_at = get_time(o, "ended_at");
    const json_t *fired = json_object_get(o, "fired");
    for (size_t i = 0; i < ALERT_FLAPS; i++)
        s->fired[i] = sane_time(json_integer_value(json_array_get(fired, i)));
    s->flapping = json_is_true(json_object_get(o, "flapping"));
    s->lapsed = json_is_true(json_object_get(o, "lapsed"));
    return (s->phase != ALERT_PENDING || s->pending_at.ms) && (s->phase != ALERT_FIRING || s->started_at.ms) &&
           (s->phase != ALERT_RESOLVED || s->ended_at.ms);
}

static void read_labels(const json_t *o, struct alert *a)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)json_object_get(o, "labels"), key, value)
    {
        if (a->label_count == RULE_LABELS_MAX || !json_is_string(value))
            continue;
        struct notice_label *l = &a->labels[a->label_count++];
        str_copy_clean(l->key, sizeof l->key, str_from(key));
        str_copy_clean(l->value, sizeof l->value, str_from(json_string_value(value)));
    }
}

static void read_notify(const json_t *o, struct alert *a)
{
    AUTO_BUF struct buf lines = BUF(sizeof a->notify - 1);
    const json_t *list = json_object_get(o, "notify"), *name;
    size_t i;
    json_array_foreach(list, i, name)
    {
        if (json_is_string(name))
            buf_printf(&lines, "%s%s", lines.len ? "\n" : "", json_string_value(name));
    }
    str_copy(a->notify, sizeof a->notify, buf_view(&lines));
}

static void read_alert(struct alert_set *set, const json_t *o)
{
    struct alert a = {0};
    int severity, scope;
    json_copy_text(o, "alert", a.rule, sizeof a.rule);
    if (!a.rule[0] || !get_choice(o, "severity", severity_word, SEVERITY_CRITICAL + 1, &severity) ||
        !get_choice(o, "scope", scope_word, 3, &scope) || !read_state(o, &a.state))
        return;
    a.severity = (enum severity)severity;
    a.scope = (enum alert_scope)scope;
    int64_t index = get_int(o, "gpu_index"), pid = get_int(o, "pid");
    if (index < -1 || index >= GPU_MAX || pid < 0 || pid > INT32_MAX)
        return;
    a.gpu_index = (int)index;
    a.pid = (int32_t)pid;
    a.start_key = get_int(o, "start_key");
    json_copy_text(o, "gpu_uuid", a.gpu_uuid, sizeof a.gpu_uuid);
    json_copy_text(o, "gpu_name", a.gpu_name, sizeof a.gpu_name);
    a.simulated = json_is_true(json_object_get(o, "simulated"));
    json_copy_text(o, "host", a.host, sizeof a.host);
    json_copy_text(o, "process", a.process, sizeof a.process);
    json_copy_text(o, "user", a.user, sizeof a.user);
    json_copy_text(o, "summary", a.summary, sizeof a.summary);
    json_copy_text(o, "silenced_by", a.silenced_by, sizeof a.silenced_by);
    a.sent = json_is_true(json_object_get(o, "told"));
    const json_t *value = json_object_get(o, "value");
    a.has_value = json_is_number(value);
    a.value = json_number_value(value);
    read_labels(o, &a);
    read_notify(o, &a);
    struct alert *to = alert_add(set);
    if (to)
        *to = a;
}

static void read_silence(struct silences *all, const json_t *o)
{
    struct silence s = {.created_at = get_time(o, "created_at"), .until = get_time(o, "until")};
    const json_t *matchers = json_object_get(o, "matchers"), *m;
    size_t i;
    json_copy_text(o, "id", s.id, sizeof s.id);
    json_copy_text(o, "comment", s.comment, sizeof s.comment);
    json_copy_text(o, "created_by", s.created_by, sizeof s.created_by);
    json_array_foreach(matchers, i, m)
    {
        if (s.matcher_count == SILENCE_MATCHERS_MAX)
            return; /* a silence with only some matchers would silence too much */
        struct silence_matcher *to = &s.matchers[s.matcher_count++];
        json_copy_text(m, "key", to->key, sizeof to->key);
        json_copy_text(m, "value", to->value, sizeof to->value);
        if (!to->key[0] || !to->value[0])
            return;
    }
    if (s.id[0] && s.matcher_count && s.until.ms && all->count < SILENCES_MAX)
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
        return error_set(err, -EINVAL, newer ? "it was written by a newer version" : "it is not what was written");
    }
    json_array_foreach(json_object_get(root, "alerts"), i, o) read_alert(set, o);
    json_array_foreach(json_object_get(root, "silences"), i, o) read_silence(&set->silences, o);
    set->silences.next_id = (uint32_t)get_int(root, "next_silence");
    set->last_at = get_time(root, "saved_at");
    json_decref(root);
    return 0;
}
