/* SPDX-License-Identifier: Apache-2.0
 * The list of alerts: their subjects and the texts about them.
 */
#include "alert/alert.h"

#include <stdio.h>
#include <stdlib.h>

#include "alert/alert_list.h"
#include "base/cleanup.h"
#include "base/digest.h"

void alert_set_init(struct alert_set *set, const struct alert_rules *rules)
{
    /* Counts bound the large arrays, so they need no clearing. */
    memset(set->buckets, 0, sizeof set->buckets);
    set->rules = rules;
    set->list = NULL;
    set->count = set->capacity = set->silences.count = 0;
    set->silences.next_id = 0;
    set->left_out = set->fired_total = 0;
    set->last_at = (struct wall){0};
    set->last = (struct mono){0};
    set->changed = set->stirred = false;
}

void alert_set_done(struct alert_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->list[i]);
    free(set->list);
    alert_set_init(set, NULL);
}

/* ---- the list ---- */

bool alert_same_gpu(const struct alert *a, const struct gpu *g)
{
    if (a->gpu_uuid[0] && g->id.uuid[0])
        return strcmp(a->gpu_uuid, g->id.uuid) == 0;
    return a->gpu_index == g->index;
}

/* The scope of a rule: that of its condition, or of what the finding is about. */
static enum alert_scope alert_scope_of(const struct alert_rule *rule, const struct subject *s)
{
    if (!rule_is_finding(rule))
        return rule->scope;
    return s->process ? SCOPE_PROCESS : s->gpu ? SCOPE_GPU : SCOPE_HOST;
}

static bool is_about(const struct alert *a, const struct alert_rule *rule, const struct subject *s)
{
    if (a->scope != alert_scope_of(rule, s) || strcmp(a->rule, rule->name) != 0)
        return false;
    if (s->gpu && !alert_same_gpu(a, s->gpu))
        return false;
    return !s->process || (a->pid == s->process->pid && a->start_key == s->process->start_key);
}

static struct alert **alert_bucket_of(struct alert_set *set, const char *rule, int32_t pid)
{
    uint32_t mark = (uint32_t)pid * 2654435761u;
    for (; *rule; rule++)
        mark = (mark ^ (unsigned char)*rule) * 16777619u;
    return &set->buckets[(mark ^ mark >> 16) % ALERT_BUCKETS];
}

void alert_link(struct alert_set *set, struct alert *a)
{
    struct alert **bucket = alert_bucket_of(set, a->rule, a->pid);
    a->next = *bucket;
    *bucket = a;
}

static void unlink_alert(struct alert_set *set, const struct alert *a)
{
    struct alert **at = alert_bucket_of(set, a->rule, a->pid);
    while (*at && *at != a)
        at = &(*at)->next;
    if (*at)
        *at = a->next;
}

void alert_link_all(struct alert_set *set)
{
    memset(set->buckets, 0, sizeof set->buckets);
    for (size_t i = 0; i < set->count; i++)
        alert_link(set, set->list[i]);
}

struct alert *alert_find(struct alert_set *set, const struct alert_rule *rule, const struct subject *s)
{
    struct alert *a = *alert_bucket_of(set, rule->name, s->process ? s->process->pid : 0);
    while (a && !is_about(a, rule, s))
        a = a->next;
    return a;
}

void alert_remove(struct alert_set *set, size_t i)
{
    unlink_alert(set, set->list[i]);
    free(set->list[i]);
    set->list[i] = set->list[--set->count];
    set->stirred = true;
}

/* Evicts the alert that was resolved longest ago. */
static bool alert_make_room(struct alert_set *set)
{
    size_t oldest = set->count;
    for (size_t i = 0; i < set->count; i++)
        if (set->list[i]->state.phase == ALERT_RESOLVED &&
            (oldest == set->count || set->list[i]->state.ended_at.ms < set->list[oldest]->state.ended_at.ms))
            oldest = i;
    if (oldest == set->count)
        return false;
    alert_remove(set, oldest);
    return true;
}

struct alert *alert_add(struct alert_set *set)
{
    if (set->count == ALERTS_MAX && !alert_make_room(set)) {
        set->left_out++;
        return NULL;
    }
    if (!ROOM_FOR_ONE(set->list, set->count, set->capacity, 16))
        return NULL;
    struct alert *a = calloc(1, sizeof *a);
    if (a)
        set->list[set->count++] = a;
    return a;
}

/* ---- texts about an alert ---- */

/* How long the condition has held so far. */
static int64_t held_ms(const struct alert *a, const struct alert_rule *rule, struct wall now)
{
    const struct alert_state *s = &a->state;
    if (s->phase == ALERT_PENDING)
        return MAX_OF(now.ms - s->pending_at.ms, (int64_t)0);
    return s->phase == ALERT_FIRING ? MAX_OF(now.ms - s->started_at.ms, (int64_t)0) + rule->hold_ms : 0;
}

static void describe_process(struct alert *a, const struct process *p)
{
    str_copy_clean(a->process, sizeof a->process, str_from(p->name));
    str_copy_clean(a->user, sizeof a->user, str_from(p->user));
}

/* Fills in the subject, the notifiers and the labels. */
static void describe(struct alert *a, const struct alert_rule *rule, const struct subject *s)
{
    str_copy(a->rule, sizeof a->rule, str_from(rule->name));
    a->scope = alert_scope_of(rule, s);
    a->gpu_index = s->gpu ? s->gpu->index : -1;
    str_copy(a->host, sizeof a->host, str_from(s->snapshot->host.name));
    if (s->gpu) {
        str_copy(a->gpu_uuid, sizeof a->gpu_uuid, str_from(s->gpu->id.uuid));
        str_copy_clean(a->gpu_name, sizeof a->gpu_name, str_from(s->gpu->id.name));
        a->simulated = s->gpu->simulated;
    }
    if (s->process) {
        a->pid = s->process->pid;
        a->start_key = s->process->start_key;
        describe_process(a, s->process);
    }
    AUTO_BUF struct buf notify = BUF(sizeof a->notify - 1);
    for (size_t i = 0; a->severity >= rule->notify_from && i < rule->notify.count; i++)
        buf_printf(&notify, "%s%s", i ? "\n" : "", rule->notify.items[i]);
    str_copy(a->notify, sizeof a->notify, buf_view(&notify));
    a->label_count = 0;
    for (size_t i = 0; i < rule->labels.count && a->label_count < RULE_LABELS_MAX; i++) {
        struct notice_label *l = &a->labels[a->label_count++];
        str_copy_clean(l->key, sizeof l->key, str_from(rule->labels.pairs[i].key));
        str_copy_clean(l->value, sizeof l->value, str_from(rule->labels.pairs[i].value));
    }
}

static void summarize(struct alert *a, const struct alert_rule *rule, const struct subject *s)
{
    AUTO_BUF struct buf summary = BUF(4096);
    summary_write(&summary, rule, s, held_ms(a, rule, s->snapshot->taken_at));
    str_copy_clean(a->summary, sizeof a->summary, buf_view(&summary));
}

void alert_describe(struct alert *a, const struct alert_rule *rule, const struct subject *s, bool holds)
{
    double value;
    a->severity = rule->severity;
    describe(a, rule, s);
    if (expr_value(rule->when, s, NULL, &value)) {
        a->has_value = true;
        a->value = value;
    }
    if (holds)
        summarize(a, rule, s);
}

void alert_describe_finding(struct alert *a, const struct alert_rule *rule, const struct subject *s, const struct finding *f)
{
    a->severity = a->state.phase == ALERT_FIRING ? MAX_OF(a->severity, f->severity) : f->severity;
    a->process[0] = a->user[0] = '\0';
    for (size_t i = 0; s->gpu && !s->process && f->pid && i < s->gpu->process_count; i++)
        if (s->gpu->processes[i].pid == f->pid)
            describe_process(a, &s->gpu->processes[i]);
    describe(a, rule, s);
    summarize(a, rule, s);
}

const char *alert_label(const void *alert, const char *key)
{
    static char number[16]; /* used by the loop's thread only */
    const struct alert *a = alert;
    for (size_t i = 0; i < a->label_count; i++)
        if (strcmp(a->labels[i].key, key) == 0)
            return a->labels[i].value;
    const struct {
        const char *key, *value;
    } own[] = {
        {"alert", a->rule},        {"severity", severity_text(a->severity)},
        {"gpu_uuid", a->gpu_uuid}, {"gpu_name", a->gpu_name},
        {"host", a->host},         {"process", a->process},
        {"user", a->user},
    };
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (strcmp(own[i].key, key) == 0)
            return own[i].value;
    bool gpu = strcmp(key, "gpu") == 0 || strcmp(key, "gpu_index") == 0;
    int value = gpu ? a->gpu_index : strcmp(key, "pid") == 0 && a->pid ? a->pid : -1;
    if (value < 0)
        return NULL;
    snprintf(number, sizeof number, "%d", value);
    return number;
}

void alert_fingerprint(const struct alert *a, char text[NOTICE_FINGERPRINT_SIZE])
{
    uint8_t digest[SHA256_SIZE];
    char key[512];
    int len = snprintf(key, sizeof key, "%s|%s|%d|%s|%d|%lld", a->rule, a->host, a->gpu_uuid[0] ? -1 : a->gpu_index, a->gpu_uuid,
                       (int)a->pid, (long long)a->start_key);
    sha256((struct str){key, (size_t)len}, digest);
    hex_encode(digest, (NOTICE_FINGERPRINT_SIZE - 1) / 2 - 3, text);
}

void alert_notice(const struct alert *a, struct alert_notice *n)
{
    char pid[16], name[NOTICE_NOTIFIER_SIZE];
    *n = (struct alert_notice){.status = a->state.phase == ALERT_FIRING ? NOTICE_FIRING : NOTICE_RESOLVED,
                               .gpu_index = a->gpu_index,
                               .simulated = a->simulated,
                               .has_value = a->has_value,
                               .value = a->value,
                               .started_at = a->state.started_at,
                               .ended_at = a->state.ended_at};
    str_copy(n->alert, sizeof n->alert, str_from(a->rule));
    str_copy(n->severity, sizeof n->severity, str_from(severity_text(a->severity)));
    str_copy(n->gpu_name, sizeof n->gpu_name, str_from(a->gpu_name));
    str_copy(n->gpu_uuid, sizeof n->gpu_uuid, str_from(a->gpu_uuid));
    str_copy(n->host, sizeof n->host, str_from(a->host));
    str_copy(n->summary, sizeof n->summary, str_from(a->summary));
    alert_fingerprint(a, n->fingerprint);
    for (size_t i = 0; i < a->label_count; i++)
        notice_add_label(n, a->labels[i].key, a->labels[i].value);
    if (a->pid) {
        snprintf(pid, sizeof pid, "%d", (int)a->pid);
        notice_add_label(n, "pid", pid);
        notice_add_label(n, "process", a->process);
        notice_add_label(n, "user", a->user);
    }
    struct str rest = str_from(a->notify), line;
    while (str_cut(&rest, '\n', &line)) {
        str_copy(name, sizeof name, line);
        notice_add_notifier(n, name);
    }
}

static int rank(const struct alert *a)
{
    static const int ranks[] = {[ALERT_FIRING] = 0, [ALERT_PENDING] = 1, [ALERT_RESOLVED] = 2, [ALERT_INACTIVE] = 3};
    return ranks[a->state.phase];
}

static int alert_compare(const void *left, const void *right)
{
    const struct alert *a = *(struct alert *const *)left, *b = *(struct alert *const *)right;
    if (rank(a) != rank(b))
        return rank(a) - rank(b);
    if (a->severity != b->severity)
        return (int)b->severity - (int)a->severity;
    int64_t first = a->state.phase == ALERT_PENDING ? a->state.pending_at.ms : a->state.started_at.ms;
    int64_t second = b->state.phase == ALERT_PENDING ? b->state.pending_at.ms : b->state.started_at.ms;
    if (first != second)
        return first < second ? -1 : 1;
    int by_name = strcmp(a->rule, b->rule);
    return by_name ? by_name : a->gpu_index != b->gpu_index ? a->gpu_index - b->gpu_index : a->pid - b->pid;
}

void alert_set_sort(struct alert_set *set)
{
    if (set->count)
        qsort(set->list, set->count, sizeof set->list[0], alert_compare);
}
