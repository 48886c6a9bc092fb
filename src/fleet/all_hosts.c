/* SPDX-License-Identifier: Apache-2.0
 * Hosts and their GPUs, worst first, as the hosts judged them; silent hosts; what fits where; who uses how much.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "fleet/fleet.h"
#include "insight/facts/levels.h"
#include "model/finding_code.h"
#include "net/clock_off.h"

const char *fleet_state_name(enum fleet_state state)
{
    static const char *const names[FLEET_STATES] = {"fine",     "not_judged", "held",    "unusual",
                                                    "degraded", "silent",     "failing", "lost"};
    return names[state];
}

static void sum_add(struct reading *to, struct reading from)
{
    if (from.state == READING_OK)
        *to = reading_ok(reading_or(*to, 0) + from.value);
}

/* ---- findings of hosts ---- */

void fleet_findings_add(struct fleet_findings *findings, const struct fleet_finding *finding)
{
    struct finding f = {.code = FINDING_CODE_COUNT,
                        .severity = finding->severity,
                        .confidence = finding->confidence,
                        .gpu_index = -1,
                        .tense = finding->tense};
    bool known = finding_code_from_name(finding->code, &f.code);
    const struct finding_kind *kind = finding_kind(f.code);
    if (known && f.severity > SEVERITY_INFO) {
        findings->effect = MAX_OF(findings->effect, f.tense == TENSE_WAS ? MIN_OF(kind->effect, EFFECT_DEGRADED) : kind->effect);
        findings->forbids |= finding_forbids(&f);
    }
    /* A critical finding of a newer version may not be harmless. */
    findings->forbids |= !known && f.severity == SEVERITY_CRITICAL;
    findings->held |= finding->held && (f.code == FINDING_CONTEXT_HELD || f.code == FINDING_VRAM_HELD);
    if (findings->code[0] && finding_compare(&findings->first, &f) <= 0)
        return;
    str_copy_clean(f.headline, sizeof f.headline, str_from(finding->headline));
    findings->first = f;
    str_copy_clean(findings->code, sizeof findings->code, str_from(finding->code));
    str_copy_clean(findings->process, sizeof findings->process, str_from(finding->process));
}

struct fleet_note *fleet_note_of(struct fleet *f, const char *host)
{
    char name[HOST_NAME_SIZE];
    str_copy_clean(name, sizeof name, str_from(host));
    for (size_t i = 0; i < f->note_count; i++)
        if (strcmp(f->notes[i].host, name) == 0)
            return &f->notes[i];
    if (!ROOM_FOR_ONE(f->notes, f->note_count, f->note_capacity, 16))
        return NULL;
    struct fleet_note *n = &f->notes[f->note_count++];
    *n = (struct fleet_note){.expected_gpus = -1};
    str_copy(n->host, sizeof n->host, str_from(name));
    return n;
}

void fleet_note_add(struct fleet_note *n, const char *code, enum health_effect effect, const char *headline)
{
    n->findings.effect = MAX_OF(n->findings.effect, effect);
    fleet_findings_add(
        &n->findings,
        &(struct fleet_finding){.code = code, .process = "", .headline = headline, .severity = SEVERITY_WARNING, .confidence = 1});
}

static enum fleet_state state_of(const struct fleet_findings *findings)
{
    static const enum fleet_state states[] = {
        [EFFECT_DEGRADED] = FLEET_DEGRADED, [EFFECT_FAILING] = FLEET_FAILING, [EFFECT_LOST] = FLEET_LOST};
    if (!findings->code[0])
        return FLEET_UNJUDGED;
    if (findings->effect)
        return states[findings->effect];
    return findings->first.severity > SEVERITY_INFO ? FLEET_UNUSUAL : findings->held ? FLEET_HELD : FLEET_FINE;
}

/* The title of a finding after "GPU 3: "; names like PCIe keep their capitals. An unknown code replaces its title. */
static void write_title(const struct fleet_findings *findings, bool begins, char *text, size_t size)
{
    if (findings->first.code < FINDING_CODE_COUNT) {
        snprintf(text, size, "%s", finding_kind(findings->first.code)->title);
        if (!begins && text[0] >= 'A' && text[0] <= 'Z' && (text[1] == ' ' || (text[1] >= 'a' && text[1] <= 'z')))
            text[0] = (char)(text[0] - 'A' + 'a');
    } else {
        snprintf(text, size, "%s", findings->code);
    }
    if (findings->process[0])
        snprintf(text + strlen(text), size - strlen(text), " (%s)", findings->process);
}

void fleet_headline(const struct fleet_gpu *g, char *text, size_t size)
{
    char title[FINDING_HEADLINE_SIZE];
    text[0] = '\0';
    if (!g->findings.code[0])
        return;
    write_title(&g->findings, false, title, sizeof title);
    if (g->findings.first.headline[0])
        snprintf(text, size, "%s", g->findings.first.headline);
    else
        snprintf(text, size, "GPU %s: %s", g->gpu[0] ? g->gpu : g->uuid, title);
}

/* ---- after the last answer ---- */

bool fleet_has_gpus(const struct fleet *f, const char *host)
{
    size_t from = 0, to = f->gpu_count;
    if (fleet_sum_of(f, host))
        return true;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order = strverscmp(f->gpus[middle].host, host);
        if (order == 0)
            return true;
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return false;
}

int fleet_compare_clock(struct fleet *f, const char *host, int64_t ahead_ms)
{
    if (!clock_is_off(ahead_ms))
        return 0;
    struct fleet_note *n = fleet_note_of(f, host);
    if (n && llabs(ahead_ms) > llabs(n->ahead_ms))
        n->ahead_ms = ahead_ms;
    return n ? 0 : -ENOMEM;
}

/* "GPU 3 draws 20% more power than its 511 siblings (H100, train.py)". */
static void add_odds(struct fleet_gpu *g)
{
    const struct fleet_odds *o = &g->odds;
    char text[FINDING_HEADLINE_SIZE], how[96] = "";
    if (o->siblings <= 0 || !(o->watts_permille || o->celsius || o->hertz_permille))
        return;
    if (o->hertz_permille)
        snprintf(how, sizeof how, "is clocked %lld%% lower", (long long)(o->hertz_permille + 5) / 10);
    if (o->celsius)
        snprintf(how + strlen(how), sizeof how - strlen(how), "%sis %lld °C hotter", how[0] ? " and " : "", (long long)o->celsius);
    if (o->watts_permille)
        snprintf(how + strlen(how), sizeof how - strlen(how), "%sdraws %lld%% more power", how[0] ? " and " : "",
                 (long long)(o->watts_permille + 5) / 10);
    snprintf(text, sizeof text, "GPU %s %s than its %lld siblings (%s, %s)", g->gpu[0] ? g->gpu : g->uuid, how,
             (long long)o->siblings, g->name, o->process);
    fleet_findings_add(
        &g->findings,
        &(struct fleet_finding){
            .code = "odd_one_out", .process = o->process, .headline = text, .severity = SEVERITY_NOTICE, .confidence = 0.7});
}

static void settle_gpu(struct fleet_gpu *g)
{
    int64_t index;
    add_odds(g);
    if (!g->findings.code[0] && !g->up) /* an older version reports this as gpu_up */
        g->findings.first = (struct finding){.code = FINDING_LOST, .severity = SEVERITY_CRITICAL, .confidence = 1};
    g->findings.first.power_mw = reading_or(g->power_mw, 0);
    g->findings.first.gpu_index = str_to_i64(str_from(g->gpu), &index) ? (int)index : -1;
    g->state = !g->findings.code[0] && !g->up ? FLEET_LOST : state_of(&g->findings);
}

/* "its clock is 10m behind the database's"; queries about the present then miss the data of a host that pushes. */
static void settle_clock(const struct fleet *f, struct fleet_note *n)
{
    char words[64], text[160];
    snprintf(text, sizeof text, "its %s%s", clock_off_words(n->ahead_ms, "the database's", words, sizeof words),
             fleet_has_gpus(f, n->host) ? "" : ": its readings are stored at the wrong time");
    fleet_note_add(n, "clock_off", EFFECT_HEALTHY, text);
}

static void fleet_settle_clocks(struct fleet *f)
{
    f->clocks_off = 0;
    for (size_t i = 0; i < f->note_count; i++) {
        if (!f->notes[i].ahead_ms)
            continue;
        f->clocks_off++;
        settle_clock(f, &f->notes[i]);
    }
}

void fleet_settle(struct fleet *f)
{
    fleet_settle_clocks(f);
    for (size_t i = 0; i < f->gpu_count; i++)
        settle_gpu(&f->gpus[i]);
    f->silent = 0;
    for (size_t i = 0; i < f->note_count; i++) {
        struct fleet_note *n = &f->notes[i];
        n->silent = n->silent && !fleet_has_gpus(f, n->host);
        f->silent += n->silent && !n->back_ms;
        if (n->silent && !n->back_ms) /* before other warnings */
            n->findings.first =
                (struct finding){.code = FINDING_LOST, .severity = SEVERITY_WARNING, .confidence = 1, .gpu_index = -1};
    }
}

/* ---- hosts ---- */

static void take_sum(struct fleet_host *h, const struct fleet_sum *sum)
{
    h->util_permille = sum->util_permille;
    h->used_bytes = sum->used_bytes;
    h->total_bytes = sum->total_bytes;
    h->temp_mdegc = sum->temp_mdegc;
    h->power_mw = sum->power_mw;
    if (reading_or(sum->judged, 0) < reading_or(sum->gpus, 0))
        h->state = MAX_OF(h->state, FLEET_UNJUDGED);
}

static void add_up(struct fleet_host *h)
{
    static const struct fleet_findings nothing;
    int64_t util = 0, known = 0, value;
    h->first = &nothing;
    for (size_t i = 0; i < h->count; i++) {
        const struct fleet_gpu *g = &h->gpus[i];
        h->state = MAX_OF(h->state, g->state);
        if (i == 0 || finding_compare(&g->findings.first, &h->first->first) < 0)
            h->first = &g->findings;
        sum_add(&h->used_bytes, g->used_bytes);
        sum_add(&h->total_bytes, g->total_bytes);
        sum_add(&h->power_mw, g->power_mw);
        if (reading_get(g->temp_mdegc, &value) && value > reading_or(h->temp_mdegc, INT64_MIN))
            h->temp_mdegc = g->temp_mdegc;
        if (reading_get(g->util_permille, &value)) {
            util += value;
            known++;
        }
    }
    if (known)
        h->util_permille = reading_ok(util / known);
    if (h->sum)
        take_sum(h, h->sum);
    const struct fleet_note *own = h->host_note;
    if (own && own->silent && own->last.gpus.state == READING_OK) {
        take_sum(h, &own->last);
        h->all = (size_t)own->last.gpus.value;
        h->old = true;
    }
    if (!own || (!own->silent && !own->findings.code[0]))
        return;
    h->state = MAX_OF(h->state, own->back_ms ? FLEET_UNJUDGED : own->silent ? FLEET_SILENT : state_of(&own->findings));
    if (!h->count || finding_compare(&own->findings.first, &h->first->first) < 0)
        h->first = &own->findings;
}

static const char *const state_words[FLEET_STATES] = {"",         "not judged",    "held but idle", "unusual",
                                                      "degraded", "not answering", "failing",       "lost"};

/* "not answering for 2h 48m", "The driver is not loaded". */
static void write_own_note(struct fleet_host *h)
{
    const struct fleet_note *n = h->host_note;
    char span[WORDS_SIZE];
    if (n->expected_only)
        snprintf(h->note, sizeof h->note, "expected, but not seen in the last week");
    else if (n->back_ms)
        snprintf(h->note, sizeof h->note, "not heard yet: the database came back %s ago", words_duration(n->back_ms, span));
    else if (n->silent)
        snprintf(h->note, sizeof h->note, "%s%s%s", state_words[FLEET_SILENT], n->silent_ms ? " for " : "",
                 n->silent_ms ? words_duration(n->silent_ms, span) : "");
    else if (n->findings.first.headline[0])
        snprintf(h->note, sizeof h->note, "%s", n->findings.first.headline);
    else
        write_title(&n->findings, true, h->note, sizeof h->note);
}

/* "GPU 3 is lost", "4 GPUs are held but idle (61 GiB)", "GPU 1 is failing: memory errors could not be corrected",
 * "2 GPUs: the fan is loud". */
static void write_gpu_note(struct fleet_host *h, const struct fleet_gpu *first, size_t count, int64_t bytes)
{
    char who[GPU_UUID_SIZE + 16], title[FINDING_HEADLINE_SIZE] = "", amount[WORDS_SIZE];
    const struct fleet_findings *findings = &first->findings;
    if (count > 1)
        snprintf(who, sizeof who, "%zu GPUs", count);
    else
        snprintf(who, sizeof who, "GPU %s", first->gpu[0] ? first->gpu : first->uuid);
    if (findings->code[0] && findings->first.code != FINDING_LOST)
        write_title(findings, false, title, sizeof title);
    const char *is = count > 1 ? "are" : "is";
    if (first->state == FLEET_HELD)
        snprintf(h->note, sizeof h->note, "%s %s %s (%s)", who, is, state_words[FLEET_HELD], words_bytes(bytes, amount));
    else if (count == 1 && findings->first.headline[0])
        snprintf(h->note, sizeof h->note, "%s", findings->first.headline);
    else if (first->state == FLEET_UNUSUAL)
        snprintf(h->note, sizeof h->note, "%s: %s", who, title);
    else
        snprintf(h->note, sizeof h->note, "%s %s %s%s%s", who, is, state_words[first->state], title[0] ? ": " : "", title);
}

static bool is_same(const struct fleet_gpu *a, const struct fleet_gpu *b)
{
    return a->state == b->state && (a->state == FLEET_HELD || (a->findings.first.severity == b->findings.first.severity &&
                                                               a->findings.first.code == b->findings.first.code &&
                                                               strcmp(a->findings.code, b->findings.code) == 0));
}

static void write_note(struct fleet_host *h)
{
    const struct fleet_gpu *worst = NULL;
    bool trouble = h->first->first.severity > SEVERITY_INFO;
    int64_t bytes = 0;
    size_t count = 0;
    if (h->host_note && h->first == &h->host_note->findings && (trouble || h->host_note->back_ms)) {
        write_own_note(h);
        return;
    }
    for (size_t i = 0; i < h->count; i++) {
        const struct fleet_gpu *g = &h->gpus[i];
        if (trouble ? h->first == &g->findings : g->state > (worst ? worst->state : FLEET_FINE))
            worst = g;
    }
    for (size_t i = 0; i < h->count && worst; i++)
        if (is_same(worst, &h->gpus[i])) {
            bytes += reading_or(h->gpus[i].used_bytes, 0);
            count++;
        }
    int64_t unjudged = h->sum ? reading_or(h->sum->gpus, 0) - reading_or(h->sum->judged, 0) : 0;
    if (worst)
        write_gpu_note(h, worst, count, h->sum ? reading_or(h->sum->held_bytes, 0) : bytes);
    else if (unjudged > 0)
        snprintf(h->note, sizeof h->note, "%lld GPU%s not judged", (long long)unjudged, unjudged == 1 ? " is" : "s are");
}

static int worst_first(const void *a, const void *b)
{
    const struct fleet_host *x = a, *y = b;
    const struct finding *v = &x->first->first, *w = &y->first->first;
    bool trouble = v->severity > SEVERITY_INFO || w->severity > SEVERITY_INFO;
    int order = trouble ? finding_compare(v, w) : (int)y->state - (int)x->state;
    if (order)
        return order;
    int64_t x_util = reading_or(x->util_permille, -1), y_util = reading_or(y->util_permille, -1);
    if (x_util != y_util)
        return x_util < y_util ? 1 : -1;
    return strverscmp(x->name, y->name);
}

static void take_notes(const struct fleet *f, struct fleet_host *list, size_t *count)
{
    for (size_t i = 0; i < f->note_count; i++) {
        const struct fleet_note *n = &f->notes[i];
        size_t at = 0;
        while (at < *count && strcmp(list[at].name, n->host) != 0)
            at++;
        if (at == *count && !n->silent && (n->findings.first.severity == SEVERITY_INFO || n->forgotten_ms))
            continue; /* a host without a GPU, or gone on purpose */
        list[at].name = n->host;
        list[at].host_note = n;
        *count = MAX_OF(*count, at + 1);
    }
}

/* GPUs that existed before, but are missing from the host's own count. */
static size_t count_gone(const struct fleet_gpu *gpus, size_t count)
{
    size_t gone = 0;
    for (size_t i = 0; i < count; i++)
        gone += !gpus[i].gpu[0];
    return gone;
}

/* Adds hosts without a GPU in trouble. */
static void take_sums(const struct fleet *f, struct fleet_host *list, size_t *count)
{
    size_t with_gpus = *count;
    for (size_t i = 0, k = 0; i < f->sum_count; i++) {
        const struct fleet_sum *sum = &f->sums[i];
        if (!reading_or(sum->gpus, 0))
            continue;
        while (k < with_gpus && strverscmp(list[k].name, sum->host) < 0)
            k++;
        struct fleet_host *h = k < with_gpus && strcmp(list[k].name, sum->host) == 0 ? &list[k] : &list[(*count)++];
        h->name = sum->host;
        h->sum = sum;
        h->all = (size_t)reading_or(sum->gpus, 0) + count_gone(h->gpus, h->count);
    }
}

struct fleet_host *fleet_hosts(const struct fleet *f, size_t *count)
{
    size_t max = f->gpu_count + f->note_count + f->sum_count;
    struct fleet_host *list = max ? calloc(max, sizeof *list) : NULL;
    *count = 0;
    for (size_t i = 0; list && i < f->gpu_count; i++) {
        if (!*count || strcmp(list[*count - 1].name, f->gpus[i].host) != 0)
            list[(*count)++] = (struct fleet_host){.name = f->gpus[i].host, .gpus = &f->gpus[i]};
        list[*count - 1].all = ++list[*count - 1].count;
    }
    if (list)
        take_sums(f, list, count);
    if (list)
        take_notes(f, list, count);
    for (size_t i = 0; i < *count; i++) {
        add_up(&list[i]);
        write_note(&list[i]);
    }
    if (list)
        qsort(list, *count, sizeof *list, worst_first);
    return list;
}

/* Lists silent hosts by name: " (gpu7, gpu9 and 3 more)". */
static void name_silent(const struct fleet *f, struct buf *out)
{
    enum { NAMED = 3 };
    const char *names[NAMED + 1] = {0};
    size_t count = 0;
    for (size_t i = 0; i < f->note_count; i++) {
        const char *name = f->notes[i].silent && !f->notes[i].back_ms ? f->notes[i].host : NULL;
        count += name != NULL;
        for (size_t k = 0; name && k < NAMED; k++)
            if (!names[k] || strverscmp(name, names[k]) < 0) {
                const char *next = names[k];
                names[k] = name;
                name = next;
            }
    }
    for (size_t k = 0; k < NAMED && names[k]; k++)
        buf_printf(out, "%s%s", k ? ", " : " (", names[k]);
    if (count > NAMED)
        buf_printf(out, " and %zu more", count - NAMED);
    buf_char(out, ')');
}

struct fleet_whole {
    size_t states[FLEET_STATES], hosts, gpus;
    struct reading power;
    int64_t util, known;
};

static void add_sums(const struct fleet *f, struct fleet_whole *w)
{
    w->hosts = 0;
    w->gpus = count_gone(f->gpus, f->gpu_count);
    for (size_t i = 0; i < f->sum_count; i++) {
        const struct fleet_sum *s = &f->sums[i];
        int64_t gpus = reading_or(s->gpus, 0), known = reading_or(s->util_known, 0);
        w->hosts += gpus > 0;
        w->gpus += (size_t)gpus;
        w->states[FLEET_UNJUDGED] += (size_t)MAX_OF(gpus - reading_or(s->judged, 0), (int64_t)0);
        w->util += reading_or(s->util_permille, 0) * known;
        w->known += known;
        sum_add(&w->power, s->power_mw);
    }
}

void fleet_answer(const struct fleet *f, char *text, size_t size)
{
    struct fleet_whole w = {0};
    int64_t value;
    for (size_t i = 0; i < f->gpu_count; i++) {
        w.states[f->gpus[i].state]++;
        w.gpus++;
        w.hosts += i == 0 || strcmp(f->gpus[i - 1].host, f->gpus[i].host) != 0;
        sum_add(&w.power, f->gpus[i].power_mw);
        if (reading_get(f->gpus[i].util_permille, &value)) {
            w.util += value;
            w.known++;
        }
    }
    if (f->sum_count)
        add_sums(f, &w);
    char percent[WORDS_SIZE], watts[WORDS_SIZE];
    AUTO_BUF struct buf out = BUF(1024);
    buf_printf(&out, "%zu host%s, %zu GPU%s", w.hosts, w.hosts == 1 ? "" : "s", w.gpus, w.gpus == 1 ? "" : "s");
    if (w.known)
        buf_printf(&out, ", %s utilized", words_percent(w.util / w.known, percent));
    if (reading_get(w.power, &value) && value < 1000000)
        buf_printf(&out, ", %s", words_power(value, watts));
    else if (w.power.state == READING_OK)
        buf_printf(&out, ", %.1f kW", (double)value / 1e6);
    bool any = false;
    for (int state = FLEET_STATES - 1; state > FLEET_FINE; state--)
        if (w.states[state]) {
            buf_printf(&out, "%s%zu %s", any ? ", " : ": ", w.states[state], state_words[state]);
            any = true;
        }
    if (f->missing)
        buf_printf(&out, "%s%zu GPU%s missing", any ? ", " : ": ", f->missing, f->missing == 1 ? "" : "s");
    if (f->silent) {
        buf_printf(&out, "%s%zu host%s not answering", any || f->missing ? ", " : ": ", f->silent, f->silent == 1 ? "" : "s");
        name_silent(f, &out);
    }
    if (f->clocks_off)
        buf_printf(&out, "%s%zu host%s with a wrong clock", any || f->missing || f->silent ? ", " : ": ", f->clocks_off,
                   f->clocks_off == 1 ? "" : "s");
    str_copy(text, size, buf_view(&out));
}

/* ---- what fits where ---- */

static int tightest_first(const void *a, const void *b)
{
    const struct fleet_gpu *x = a, *y = b;
    bool x_judged = x->findings.code[0], y_judged = y->findings.code[0];
    if (x_judged != y_judged)
        return x_judged ? -1 : 1;
    bool x_busy = load_is_work(x->util_permille), y_busy = load_is_work(y->util_permille);
    if (x_busy != y_busy)
        return x_busy ? 1 : -1;
    int64_t x_room = fleet_room(x).value, y_room = fleet_room(y).value;
    if (x_room != y_room)
        return x_room > y_room ? 1 : -1;
    int order = strverscmp(x->host, y->host);
    order = order ? order : strverscmp(x->gpu, y->gpu);
    return order ? order : strcmp(x->uuid, y->uuid);
}

struct fleet_instance *fleet_instance_of(struct fleet *f, struct fleet_gpu *g, const char *uuid, const char *profile)
{
    char clean[GPU_UUID_SIZE];
    str_copy_clean(clean, sizeof clean, str_from(uuid));
    for (uint32_t i = g->first_instance; i; i = f->instances[i - 1].next)
        if (strcmp(f->instances[i - 1].uuid, clean) == 0)
            return &f->instances[i - 1];
    if (!ROOM_FOR_ONE(f->instances, f->instance_count, f->instance_capacity, 16))
        return NULL;
    struct fleet_instance *new = &f->instances[f->instance_count++];
    *new = (struct fleet_instance){.next = g->first_instance};
    str_copy(new->uuid, sizeof new->uuid, str_from(clean));
    str_copy_clean(new->profile, sizeof new->profile, str_from(profile));
    g->first_instance = (uint32_t)f->instance_count;
    g->divided = true;
    return new;
}

bool fleet_is_usable(const struct fleet_gpu *g)
{
    return g->up && !g->findings.forbids;
}

struct reading fleet_room(const struct fleet_gpu *g)
{
    return g->divided ? g->instance_free_bytes : g->free_bytes;
}

size_t fleet_unknown_room(const struct fleet *f, int64_t bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < f->gpu_count; i++) {
        const struct fleet_gpu *g = &f->gpus[i];
        bool too_small = g->divided && reading_or(g->instance_max_bytes, INT64_MAX) < bytes;
        count += fleet_is_usable(g) && fleet_room(g).state != READING_OK && !too_small;
    }
    return count;
}

/* An instance looks like a GPU with its own name, UUID and memory. */
static struct fleet_gpu as_gpu(const struct fleet_gpu *card, const struct fleet_instance *instance)
{
    struct fleet_gpu g = *card;
    char name[GPU_NAME_SIZE + GPU_TEXT_SIZE + 8];
    snprintf(name, sizeof name, "%s%s%s", card->name, instance->profile[0] ? " MIG " : " (MIG)", instance->profile);
    str_copy(g.name, sizeof g.name, str_from(name));
    str_copy(g.uuid, sizeof g.uuid, str_from(instance->uuid));
    g.divided = false;
    g.free_bytes = instance->free_bytes;
    g.util_permille = instance->util_permille;
    g.used_bytes = g.total_bytes = reading_absent(READING_UNREAD);
    return g;
}

static void add_if_fits(struct fleet_gpu *list, size_t *count, const struct fleet_gpu *g, int64_t bytes)
{
    int64_t room;
    if (reading_get(fleet_room(g), &room) && room >= bytes)
        list[(*count)++] = *g;
}

struct fleet_gpu *fleet_fitting(const struct fleet *f, int64_t bytes, size_t *count)
{
    struct fleet_gpu *list = calloc(f->gpu_count + f->instance_count + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < f->gpu_count; i++) {
        const struct fleet_gpu *g = &f->gpus[i];
        if (!fleet_is_usable(g))
            continue;
        if (!g->divided)
            add_if_fits(list, count, g, bytes);
        for (uint32_t k = g->first_instance; k; k = f->instances[k - 1].next) {
            struct fleet_gpu instance = as_gpu(g, &f->instances[k - 1]);
            add_if_fits(list, count, &instance, bytes);
        }
    }
    if (list && *count)
        qsort(list, *count, sizeof *list, tightest_first);
    return list;
}

/* ---- who uses how much ---- */

const struct fleet_by_words fleet_by_words[FLEET_BY_COUNT] = {
    [FLEET_BY_NONE] = {"host", "host", "hosts", "HOST"},
    [FLEET_BY_USER] = {"user", "user", "users", "USER"},
    [FLEET_BY_CONTAINER] = {"container", "container", "containers", "CONTAINER"},
    [FLEET_BY_POD] = {"namespace, pod", "pod", "pods", "POD"},
    [FLEET_BY_JOB] = {"hpc_job", "job", "jobs", "JOB"},
    [FLEET_BY_HOST] = {"host", "host", "hosts", "HOST"},
};

const char *fleet_key(const struct fleet_process *p, enum fleet_by by)
{
    switch (by) {
    case FLEET_BY_USER: return p->user;
    case FLEET_BY_CONTAINER: return p->container;
    case FLEET_BY_POD: return p->pod;
    case FLEET_BY_JOB: return p->job;
    default: return p->host;
    }
}

static int by_key(const void *a, const void *b, void *by)
{
    enum fleet_by what = *(const enum fleet_by *)by;
    int order = strcmp(fleet_key(a, what), fleet_key(b, what));
    return order ? order : strcmp(((const struct fleet_process *)a)->host, ((const struct fleet_process *)b)->host);
}

static int most_memory_first(const void *a, const void *b)
{
    const struct fleet_process *x = a, *y = b;
    int64_t v = reading_or(x->mem_bytes, -1), w = reading_or(y->mem_bytes, -1);
    if (v != w)
        return v < w ? 1 : -1;
    int order = strverscmp(x->host, y->host);
    return order ? order : strcmp(x->process, y->process);
}

/* One entry per key, in place; `gpu` counts hosts, `process` counts groups. The hosts of a key are adjacent. */
static size_t add_up_groups(struct fleet_process *list, size_t count, enum fleet_by by)
{
    size_t kept = 0;
    qsort_r(list, count, sizeof *list, by_key, &by);
    for (size_t i = 0, end; i < count; i = end) {
        struct fleet_process sum = list[i];
        size_t hosts = 1;
        for (end = i + 1; end < count && strcmp(fleet_key(&list[end], by), fleet_key(&list[i], by)) == 0; end++) {
            sum_add(&sum.mem_bytes, list[end].mem_bytes);
            sum_add(&sum.util_permille, list[end].util_permille);
            sum_add(&sum.power_mw, list[end].power_mw);
            hosts += strcmp(list[end - 1].host, list[end].host) != 0;
        }
        snprintf(sum.process, sizeof sum.process, "%zu", end - i);
        snprintf(sum.gpu, sizeof sum.gpu, "%zu", hosts);
        list[kept++] = sum;
    }
    return kept;
}

struct fleet_process *fleet_processes(const struct fleet *f, const struct fleet_view *v, size_t *count)
{
    struct fleet_process *list = calloc(f->process_count + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < f->process_count; i++)
        if (!v->user || strcmp(v->user, f->processes[i].user) == 0)
            list[(*count)++] = f->processes[i];
    if (list && v->by && *count)
        *count = add_up_groups(list, *count, v->by);
    if (list && *count)
        qsort(list, *count, sizeof *list, most_memory_first);
    return list;
}
