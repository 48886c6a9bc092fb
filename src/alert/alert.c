/* SPDX-License-Identifier: Apache-2.0
 * The list of alerts, the texts about them, and one step of all of them.
 */
#include "alert/alert.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "config/findings.h"

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

static bool alert_same_gpu(const struct alert *a, const struct gpu *g)
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

static void alert_link(struct alert_set *set, struct alert *a)
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

/* Enter alerts into the hash table: all of them when a step begins, a new one as soon as its subject is known. */
static void alert_link_all(struct alert_set *set)
{
    memset(set->buckets, 0, sizeof set->buckets);
    for (size_t i = 0; i < set->count; i++)
        alert_link(set, set->list[i]);
}

/* The alert of a rule and a subject, or NULL. */
static struct alert *alert_find(struct alert_set *set, const struct alert_rule *rule, const struct subject *s)
{
    struct alert *a = *alert_bucket_of(set, rule->name, s->process ? s->process->pid : 0);
    while (a && !is_about(a, rule, s))
        a = a->next;
    return a;
}

/* moves the last alert into its place */
static void alert_remove(struct alert_set *set, size_t i)
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

/* Sets the subject and the summary. The summary stays that of the last moment when the condition held, which says more than a
 * later one. */
static void alert_describe(struct alert *a, const struct alert_rule *rule, const struct subject *s, bool holds)
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

/* The same for an active finding. Names the finding's process even if the alert is about the GPU. */
static void alert_describe_finding(struct alert *a, const struct alert_rule *rule, const struct subject *s, const struct finding *f)
{
    a->severity = a->state.phase == ALERT_FIRING ? MAX_OF(a->severity, f->severity) : f->severity;
    a->process[0] = a->user[0] = '\0';
    for (size_t i = 0; s->gpu && !s->process && f->pid && i < s->gpu->process_count; i++)
        if (s->gpu->processes[i].pid == f->pid)
            describe_process(a, &s->gpu->processes[i]);
    describe(a, rule, s);
    summarize(a, rule, s);
}

/* The value of a label for matching silences: the rule's own labels and "alert", "severity", "gpu", ... */
static const char *alert_label(const void *alert, const char *key)
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

/* ---- one step: the findings of the verdict, every condition for every subject, then alerts whose subject is gone ---- */

struct step {
    struct alert_set *set;
    const struct snapshot *snapshot;
    const struct store_facts *store;
    struct alert_moment moment;
    alert_news_fn *news;
    void *user;
};

/* An alert that was renamed. */
struct old_alert {
    const struct alert *alert;
    const char *name;
};

static const char *old_label(const void *alert, const char *key)
{
    const struct old_alert *old = alert;
    return strcmp(key, "alert") == 0 ? old->name : alert_label(old->alert, key);
}

/* The first matching silence; also matches silences that use an older name of the alert. */
static const struct silence *find_silence(const struct alert_set *set, const struct alert *a, struct wall now)
{
    const struct silence *s = silences_match(&set->silences, alert_label, a, now);
    finding_code code;
    struct old_alert old = {.alert = a};
    for (size_t i = 0; !s && set->silences.count && (old.name = config_old_alert(i)); i++)
        if (finding_code_from_name(a->rule, &code) && config_names_finding(old.name, code))
            s = silences_match(&set->silences, old_label, &old, now);
    return s;
}

/* Applies silences before anything is sent. True if the alert has just become unsilenced. */
static bool update_silence(struct alert_set *set, struct alert *a, struct wall now)
{
    const struct silence *s = find_silence(set, a, now);
    bool was = a->silenced_by[0];
    str_copy(a->silenced_by, sizeof a->silenced_by, str_from(s ? s->id : ""));
    return was && !s;
}

static void publish(struct alert_set *set, enum alert_change change, const struct alert_rule *rule, struct alert *a,
                    struct wall now, alert_news_fn *news, void *user)
{
    static const enum alert_news meanings[] = {
        [CHANGE_PENDING] = NEWS_PENDING,
        [CHANGE_CALMED] = NEWS_CALMED,
        [CHANGE_FIRED] = NEWS_FIRED,
        [CHANGE_RESOLVED] = NEWS_RESOLVED,
    };
    if (change == CHANGE_NONE)
        return;
    if (change == CHANGE_PENDING || change == CHANGE_CALMED)
        set->stirred = true;
    else
        set->changed = true;
    update_silence(set, a, now);
    if (change == CHANGE_FIRED) {
        set->fired_total++;
        a->sent = false;
    }
    if (news)
        news(user, meanings[change], rule, a);
    if (change == CHANGE_FIRED)
        a->sent = !a->silenced_by[0];
}

static enum truth is_calm(const struct alert_rule *rule, enum truth when, const struct subject *s)
{
    if (!rule->clear)
        return when == TRUTH_UNKNOWN ? TRUTH_UNKNOWN : when == TRUTH_TRUE ? TRUTH_FALSE : TRUTH_TRUE;
    /* Overlapping conditions must not begin and end an alert in the same step. */
    return when == TRUTH_TRUE ? TRUTH_FALSE : expr_eval(rule->clear, s);
}

static void judge(struct step *step, const struct alert_rule *rule, const struct subject *s)
{
    struct alert_set *set = step->set;
    enum truth when = expr_eval(rule->when, s);
    struct alert *a = set->count ? alert_find(set, rule, s) : NULL;
    if (!a && when != TRUTH_TRUE)
        return;
    bool is_new = !a;
    if (is_new && !(a = alert_add(set)))
        return;
    const struct alert_timing timing = {rule->hold_ms, rule->clear_hold_ms};
    a->seen = true;
    alert_describe(a, rule, s, when == TRUTH_TRUE);
    if (is_new)
        alert_link(set, a);
    enum alert_change change = alert_step(&a->state, &timing, when,
                                          a->state.phase == ALERT_FIRING ? is_calm(rule, when, s) : TRUTH_UNKNOWN, &step->moment);
    publish(set, change, rule, a, step->moment.now, step->news, step->user);
}

static void judge_gpu(struct step *step, const struct alert_rule *rule, const struct gpu *gpu)
{
    struct subject s = {.snapshot = step->snapshot, .store = step->store, .gpu = gpu};
    if (rule->scope == SCOPE_GPU)
        judge(step, rule, &s);
    for (size_t i = 0; rule->scope == SCOPE_PROCESS && i < gpu->process_count; i++) {
        s.process = &gpu->processes[i];
        judge(step, rule, &s);
    }
}

static void judge_rule(struct step *step, const struct alert_rule *rule)
{
    if (rule->scope == SCOPE_HOST)
        judge(step, rule, &(struct subject){.snapshot = step->snapshot, .store = step->store});
    for (size_t i = 0; rule->scope != SCOPE_HOST && i < step->snapshot->gpu_count; i++)
        judge_gpu(step, rule, &step->snapshot->gpus[i]);
}

/* ---- findings ---- */

/* Findings about activity belong to their process; all others to the GPU, whichever process they name at the moment. */
static const struct process *process_of(const struct gpu *gpu, const struct finding *f)
{
    enum finding_area area = finding_kind(f->code)->area;
    for (size_t i = 0; gpu && (area == AREA_WORK || area == AREA_IDLE) && i < gpu->process_count; i++)
        if (gpu->processes[i].pid == f->pid)
            return &gpu->processes[i];
    return NULL;
}

/* Reports a firing alert that got worse than last reported. */
static void publish_worse(struct step *step, const struct alert_rule *rule, struct alert *a, enum severity before)
{
    if (a->state.phase != ALERT_FIRING || a->severity <= before || a->severity < rule->notify_from)
        return;
    update_silence(step->set, a, step->moment.now);
    if (step->news)
        step->news(step->user, NEWS_UPDATED, rule, a);
    a->sent |= !a->silenced_by[0];
    step->set->changed = true;
}

static void judge_finding(struct step *step, const struct alert_rule *rule, const struct finding *f)
{
    struct alert_set *set = step->set;
    struct subject s = {.snapshot = step->snapshot, .gpu = snapshot_gpu(step->snapshot, f->gpu_index)};
    s.process = process_of(s.gpu, f);
    struct alert *a = set->count ? alert_find(set, rule, &s) : NULL;
    bool is_new = !a;
    if (is_new && !(a = alert_add(set)))
        return;
    /* What comes and goes has held long enough when its share of the time is that long. */
    int64_t share = f->tense == TENSE_COMES_AND_GOES ? MAX_OF(reading_or(f->share_ten_permille, 1000), (int64_t)1) : 1000;
    const struct alert_timing timing = {rule->hold_ms * 1000 / share, rule->clear_hold_ms};
    enum severity before = a->severity;
    a->seen = true;
    alert_describe_finding(a, rule, &s, f);
    if (is_new)
        alert_link(set, a);
    enum alert_change change = alert_step(&a->state, &timing, TRUTH_TRUE, TRUTH_FALSE, &step->moment);
    if (change == CHANGE_NONE)
        publish_worse(step, rule, a, before);
    publish(set, change, rule, a, step->moment.now, step->news, step->user);
}

static void judge_findings(struct step *step)
{
    const struct verdict *v = step->snapshot->verdict;
    for (size_t i = 0; v && i < v->count; i++) {
        const struct alert_rule *rule = alert_rules_of_finding(step->set->rules, v->findings[i].code);
        if (rule && rule->enabled && rule_takes(rule, &v->findings[i]))
            judge_finding(step, rule, &v->findings[i]);
    }
}

/* Whether a missing finding is over; unknown if its GPU or its inputs were not read. */
static enum truth is_over(const struct step *step, const struct alert_rule *rule, const struct alert *a)
{
    struct subject s = {.snapshot = step->snapshot};
    for (size_t i = 0; a->scope != SCOPE_HOST && i < s.snapshot->gpu_count; i++)
        if (alert_same_gpu(a, &s.snapshot->gpus[i]))
            s.gpu = &s.snapshot->gpus[i];
    if (a->scope != SCOPE_HOST && !s.gpu)
        return TRUTH_UNKNOWN;
    return rule_holds(rule, &s) == TRUTH_UNKNOWN ? TRUTH_UNKNOWN : TRUTH_TRUE;
}

/* ---- alerts without a finding or subject ---- */

/* Whether the process has ended; false if the process list was not readable. */
static bool process_is_gone(const struct step *step, const struct alert *a)
{
    if (a->scope != SCOPE_PROCESS)
        return false;
    for (size_t i = 0; i < step->snapshot->gpu_count; i++)
        if (alert_same_gpu(a, &step->snapshot->gpus[i]))
            return step->snapshot->gpus[i].processes_state == READING_OK;
    return false;
}

static bool has_no_rule(const struct alert_rule *rule, const struct alert *a)
{
    return !rule || !rule->enabled || (!rule_is_finding(rule) && rule->scope != a->scope);
}

/* Handles alerts whose finding or subject is missing from this sample. */
static void judge_unseen(struct step *step, struct alert *a)
{
    const struct alert_rule *rule = alert_rules_find(step->set->rules, a->rule);
    struct wall now = step->moment.now;
    enum alert_change change;
    if (has_no_rule(rule, a) || process_is_gone(step, a)) {
        change = alert_end(&a->state, now);
    } else {
        const struct alert_timing timing = {rule->hold_ms, rule->clear_hold_ms};
        enum truth over = rule_is_finding(rule) ? is_over(step, rule, a) : TRUTH_UNKNOWN;
        change = alert_step(&a->state, &timing, over == TRUTH_TRUE ? TRUTH_FALSE : TRUTH_UNKNOWN, over, &step->moment);
    }
    publish(step->set, change, rule, a, now, step->news, step->user);
}

static void alert_step_forget(struct alert_set *set, struct wall now)
{
    for (size_t i = set->count; i-- > 0;) {
        const struct alert_state *s = &set->list[i]->state;
        if (s->phase == ALERT_INACTIVE || (s->phase == ALERT_RESOLVED && now.ms - s->ended_at.ms > ALERT_RESOLVED_KEPT_MS))
            alert_remove(set, i);
    }
}

/* A timeline that ignores clock changes: the previous sample's time plus the monotonic time since. */
static struct alert_moment next_moment(struct alert_set *set, const struct snapshot *now)
{
    struct alert_moment m = {.now = now->taken_at, .before = set->last_at};
    int64_t passed = now->taken_at.ms - set->last_at.ms;
    if (set->last_at.ms && set->last.ns && now->taken.ns > set->last.ns)
        passed = mono_since_ms(now->taken, set->last);
    else if (passed < 0)
        passed = 0;
    int64_t gap = MAX_OF((int64_t)ALERT_GAP_MS, (int64_t)(now->interval_s * 3000));
    m.gap = set->last_at.ms && passed > gap;
    int64_t off = set->last_at.ms ? now->taken_at.ms - set->last_at.ms - passed : 0;
    if (off > 5000 || off < 0) {
        /* The clock was set: shift all times with it, so that none lies in the future or too far back. */
        for (size_t i = 0; i < set->count; i++) {
            struct alert_state *s = &set->list[i]->state;
            s->pending_at.ms += s->pending_at.ms ? off : 0;
            s->calm_at.ms += s->calm_at.ms ? off : 0;
            s->known_at.ms += s->known_at.ms ? off : 0;
            for (size_t k = 0; k < ALERT_FLAPS; k++)
                s->fired[k].ms += s->fired[k].ms ? off : 0;
        }
        m.before.ms += m.before.ms ? off : 0;
    }
    set->last_at = now->taken_at;
    set->last = now->taken;
    return m;
}

void alert_set_step(struct alert_set *set, const struct snapshot *now, const struct store_facts *store, alert_news_fn *news,
                    void *user)
{
    struct step step = {.set = set, .snapshot = now, .store = store, .moment = next_moment(set, now), .news = news, .user = user};
    alert_link_all(set);
    for (size_t i = 0; i < set->count; i++)
        set->list[i]->seen = false;
    judge_findings(&step);
    for (size_t i = 0; i < set->rules->count; i++)
        if (set->rules->list[i].enabled && !rule_is_finding(&set->rules->list[i]))
            judge_rule(&step, &set->rules->list[i]);
    for (size_t i = 0; i < set->count; i++)
        if (!set->list[i]->seen)
            judge_unseen(&step, set->list[i]);
    alert_step_forget(set, now->taken_at);
    if (silences_expire(&set->silences, now->taken_at)) {
        set->changed = true;
        alert_set_silence(set, now->taken_at, news, user);
    }
}

void alert_set_silence(struct alert_set *set, struct wall now, alert_news_fn *news, void *user)
{
    for (size_t i = 0; i < set->count; i++) {
        struct alert *a = set->list[i];
        const struct alert_rule *rule = alert_rules_find(set->rules, a->rule);
        if (update_silence(set, a, now) && a->state.phase == ALERT_FIRING && !a->sent && rule) {
            if (news)
                news(user, NEWS_UPDATED, rule, a);
            a->sent = true;
        }
    }
    set->changed = true;
}

void alert_set_rules(struct alert_set *set, const struct alert_rules *rules, struct wall now, alert_news_fn *news, void *user)
{
    set->rules = rules;
    for (size_t i = 0; i < set->count; i++) {
        struct alert *a = set->list[i];
        const struct alert_rule *rule = alert_rules_find(rules, a->rule);
        if (has_no_rule(rule, a))
            publish(set, alert_end(&a->state, now), rule, a, now, news, user);
    }
    alert_step_forget(set, now);
}
