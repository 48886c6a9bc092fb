/* SPDX-License-Identifier: Apache-2.0 */
#include "story.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "insight/verdict/health.h"
#include "insight/verdict/judge.h"
#include "source/fault/fault.h"

enum { FILE_MAX = 1 << 20 };

static char *read_whole(const char *folder, const char *file)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    AUTO_FCLOSE FILE *f = fopen(path, "r");
    char *text = f ? malloc(FILE_MAX) : NULL;
    if (!text)
        return fprintf(stderr, "%s: cannot read\n", path), NULL;
    text[fread(text, 1, FILE_MAX - 1, f)] = '\0';
    return text;
}

/* The lines of "[kind]", behind those of the kind that it is like. */
static bool add_card(struct buf *to, const char *cards, struct str kind)
{
    struct str rest = str_from(cards), line;
    char head[64];
    bool inside = false, found = false;
    snprintf(head, sizeof head, "[" STR_FMT "]", STR_ARG(kind));
    while (str_cut(&rest, '\n', &line)) {
        line = str_trim(line);
        if (line.len && line.at[0] == '[') {
            inside = str_is(line, head);
            found |= inside;
        } else if (inside && str_starts(line, "like ")) {
            found &= add_card(to, cards, (struct str){line.at + 5, line.len - 5});
        } else if (inside && line.len) {
            buf_printf(to, STR_FMT "\n", STR_ARG(line));
        }
    }
    return found;
}

/* A line of a story, and the facts of a card where it says `like`. */
static bool add_line(struct buf *to, const char *cards, struct str line)
{
    struct str rest = line, word, before = {line.at, 0};
    if (str_starts(line, "title ") || str_starts(line, "log "))
        return buf_printf(to, STR_FMT "\n", STR_ARG(line)), true;
    while (str_word(&rest, &word)) {
        if (str_is(word, "like")) {
            buf_printf(to, STR_FMT "\n", STR_ARG(before));
            return add_card(to, cards, str_trim(rest));
        }
        before.len = (size_t)(word.at + word.len - line.at);
    }
    buf_printf(to, STR_FMT "\n", STR_ARG(line));
    return true;
}

static bool end_story(struct stories *s, const char *name, struct buf *text)
{
    if (!name[0])
        return true;
    if (!ROOM_FOR_ONE(s->list, s->count, s->capacity, 64))
        return false;
    struct story *story = &s->list[s->count];
    snprintf(story->name, sizeof story->name, "%s", name);
    char *whole = buf_take(text);
    return whole && scenario_parse(&story->scenario, whole, name) && (s->count++, true);
}

bool stories_read(struct stories *s, const char *folder, const char *file)
{
    AUTO_FREE char *cards = read_whole(folder, "cards.facts");
    AUTO_FREE char *text = read_whole(folder, file);
    struct str rest = str_from(text ? text : ""), line;
    char name[64] = "";
    struct buf story = BUF(65536);
    bool ok = cards && text;
    while (ok && str_cut(&rest, '\n', &line)) {
        line = str_trim(line);
        if (str_starts(line, "story ")) {
            ok = end_story(s, name, &story);
            str_copy(name, sizeof name, (struct str){line.at + 6, line.len - 6});
        } else if (!(ok = add_line(&story, cards, line))) {
            fprintf(stderr, "%s: not understood: " STR_FMT "\n", name, STR_ARG(line));
        }
    }
    ok = ok && end_story(s, name, &story);
    buf_done(&story);
    return ok;
}

void stories_done(struct stories *s)
{
    for (size_t i = 0; i < s->count; i++)
        scenario_done(&s->list[i].scenario);
    free(s->list);
    *s = (struct stories){0};
}

/* `to` is a reading of the GPU or of one of its processes. */
static struct reading *reading_named(struct gpu *gpu, struct process *p, struct str key, double *scale)
{
    size_t count = p ? PROCESS_METRIC_COUNT : METRIC_COUNT;
    const struct metric_info *table = p ? process_metric_table : metric_table;
    for (size_t i = 0; i < count; i++)
        if (str_is(key, table[i].json)) {
            *scale = table[i].json_scale;
            return p ? &p->metric[i] : &gpu->metric[i];
        }
    return NULL;
}

/* "power_brake,idle~none~none": one set of words, or a number, a turn; `_` for the blank in a word */
static bool throttle_value(struct str text, size_t turn, struct reading *ret)
{
    struct str turns = text, words = {0}, word;
    size_t count = 0;
    int64_t bits = 0;
    for (struct str one; str_cut(&turns, '~', &one);)
        count++;
    turns = text;
    for (size_t i = 0; count && i <= turn % count; i++)
        str_cut(&turns, '~', &words);
    if (str_to_i64(words, &bits))
        words.len = 0;
    while (!str_is(words, "none") && str_cut(&words, ',', &word)) {
        char name[64];
        unsigned bit = 0;
        str_copy(name, sizeof name, word);
        for (char *c = name; *c; c++)
            *c = *c == '_' ? ' ' : *c;
        while (bit < THROTTLE_COUNT && strcmp(name, throttle_name(bit)) != 0)
            bit++;
        if (bit == THROTTLE_COUNT)
            return false;
        bits |= 1 << bit;
    }
    *ret = reading_ok(bits);
    return true;
}

/* What is no number: the reasons to throttle, and the state of a GPU. */
static bool apply_words(struct gpu *gpu, struct str key, struct str value, size_t turn, bool *ret_ok)
{
    if (str_is(key, "throttle_reasons"))
        *ret_ok = throttle_value(value, turn, &gpu->throttle_bits);
    else if (str_is(key, "state"))
        gpu_mark_state(gpu, str_is(value, "lost") ? GPU_LOST : GPU_ERROR, str_is(value, "lost") ? "GPU is lost" : "Unknown Error");
    else
        return false;
    return true;
}

static bool apply(const struct scenario_course *c, struct snapshot *s, int64_t ago)
{
    struct gpu *gpu = &s->gpus[c->gpu];
    struct process *p = c->pid ? gpu_find_process(gpu, c->pid) : NULL;
    struct str rest = c->facts, key, value;
    double share = c->from_ms == c->to_ms ? 0 : (double)(c->from_ms - ago) / (double)(c->from_ms - c->to_ms), number, scale;
    if (ago > c->from_ms || ago < c->to_ms || (c->pid && !p))
        return true;
    size_t turn = (size_t)((c->from_ms - ago) / c->step_ms);
    while (str_word(&rest, &key)) {
        struct reading *to = reading_named(gpu, p, key, &scale);
        bool ok = str_word(&rest, &value);
        if (ok && !p && apply_words(gpu, key, value, turn, &ok) && ok)
            continue;
        if (!ok || !to || !scenario_course_value(value, share, turn, &number))
            return fprintf(stderr, "not understood: " STR_FMT "\n", STR_ARG(c->facts)), false;
        *to = reading_ok(llround(number / scale));
    }
    return true;
}

/* Processes are there from when they started until they ended. */
static void set_processes(const struct scenario_machine *m, struct snapshot *s)
{
    for (size_t g = 0; g < s->gpu_count; g++) {
        struct gpu *gpu = &s->gpus[g];
        size_t kept = 0;
        for (size_t i = 0; i < gpu->process_count; i++)
            if (gpu->processes[i].started_at.ms <= s->taken_at.ms)
                gpu->processes[kept++] = gpu->processes[i];
        gpu->process_count = kept;
    }
    for (size_t i = 0; i < m->past.ended_count; i++) {
        const struct recent_process *e = &m->past.ended[i];
        for (size_t g = 0; g < s->gpu_count; g++) {
            if (s->gpus[g].index != e->gpu_index || s->taken_at.ms > e->last_seen.ms || s->taken_at.ms < e->first_seen.ms)
                continue;
            struct process *p = gpu_add_process(&s->gpus[g], e->last.pid);
            if (p)
                *p = e->last;
        }
    }
}

static void note_logs(const struct scenario_machine *m, struct health_history *h, int64_t before, int64_t ago)
{
    for (size_t i = 0; i < m->log_count; i++) {
        const struct scenario_log *log = &m->logs[i];
        struct wall at = {m->now->taken_at.ms - log->ago_ms};
        struct fault_line xid;
        struct fault_line fault;
        if (log->ago_ms >= before || log->ago_ms < ago)
            continue;
        int64_t switch_fault = switch_fault_parse(log->text);
        if (switch_fault)
            health_note_switch_fault(h, m->now, switch_fault, at);
        else if (xid_parse(log->text, &xid))
            health_note_xid(h, xid.pci_address, xid.code, at);
        else if (driver_fault_parse(log->text, &fault))
            health_note_driver_fault(h, fault.pci_address, fault.code, at);
    }
}

static void leave_unread(struct snapshot *s)
{
    for (size_t g = 0; g < s->gpu_count; g++)
        for (size_t i = 0; i < METRIC_COUNT; i++)
            if (metric_table[i].group & (GROUP_SLOW | GROUP_RARE))
                s->gpus[g].metric[i] = reading_absent(READING_UNREAD);
}

static bool play_moment(struct told *t, struct judge *j, int64_t before, int64_t ago)
{
    struct snapshot *s = snapshot_copy(t->machine.now);
    if (!s)
        return false;
    bool ok = true;
    s->taken_at.ms -= ago;
    s->taken.ns = s->taken_at.ms * 1000000;
    s->groups = t->machine.quick ? GROUP_STATIC | GROUP_QUICK : GROUP_ALL;
    set_processes(&t->machine, s);
    for (size_t i = 0; ago && i < t->machine.course_count; i++)
        ok &= apply(&t->machine.courses[i], s, ago);
    if (t->machine.quick)
        leave_unread(s);
    health_meet(judge_health(j), s);
    note_logs(&t->machine, judge_health(j), before, ago);
    judge_take(j, s);
    if (!t->last)
        recent_begin(&t->recent, s);
    recent_add(&t->recent, t->last, s);
    snapshot_unref(t->last);
    t->last = s;
    return ok && s->verdict;
}

bool story_play(const struct story *story, struct told *t)
{
    *t = (struct told){0};
    if (!scenario_build(&story->scenario, (struct str){0}, &t->machine))
        return false;
    int64_t from = 0, step = 60000, before = INT64_MAX;
    for (size_t i = 0; i < t->machine.course_count; i++) {
        from = MAX_OF(from, t->machine.courses[i].from_ms);
        step = MIN_OF(step, t->machine.courses[i].step_ms);
    }
    struct judge *j = judge_new();
    bool ok = j != NULL;
    if (ok)
        judge_set_usual(j, t->machine.usual);
    for (int64_t ago = from; ok && ago >= 0; before = ago, ago = ago > 0 && ago < step ? 0 : ago - step)
        ok = play_moment(t, j, before, ago);
    judge_free(j);
    t->why = ok ? why_explain_usual(t->last, &t->recent, t->machine.usual) : NULL;
    return t->why;
}

void told_done(struct told *t)
{
    why_free(t->why);
    snapshot_unref(t->last);
    recent_done(&t->recent);
    scenario_machine_done(&t->machine);
}
