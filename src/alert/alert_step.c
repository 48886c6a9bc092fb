/* SPDX-License-Identifier: Apache-2.0
 * One step of all alerts: the verdict's findings, then every condition for every subject, then alerts of vanished subjects.
 */
#include "alert/alert_list.h"
#include "base/cleanup.h"
#include "config/findings.h"

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
