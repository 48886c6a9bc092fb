/* SPDX-License-Identifier: Apache-2.0
 * Hosts and their GPUs as the hosts judged them, worst first; which hosts are silent; what fits where; and who uses how much.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "fleet/fleet.h"
#include "insight/facts/levels.h"

const char *fleet_state_name(enum fleet_state state)
{
    static const char *const names[FLEET_STATES] = {"fine",     "not_judged", "held",    "unusual",
                                                    "degraded", "silent",     "failing", "lost"};
    return names[state];
}

/* ---- what hosts said ---- */

void fleet_said_add(struct fleet_said *said, const struct fleet_finding *finding)
{
    struct finding f = {
        .code = FINDING_CODE_COUNT, .severity = finding->severity, .confidence = finding->confidence, .gpu_index = -1};
    bool known = finding_code_from_name(finding->code, &f.code);
    const struct finding_kind *kind = finding_kind(f.code);
    if (known && f.severity > SEVERITY_INFO) {
        said->effect = MAX_OF(said->effect, kind->effect);
        said->forbids |= !kind->places;
    }
    /* What a newer whirr calls critical is not known to be harmless. */
    said->forbids |= !known && f.severity == SEVERITY_CRITICAL;
    said->held |= finding->held && (f.code == FINDING_CONTEXT_HELD || f.code == FINDING_VRAM_HELD);
    if (said->code[0] && finding_compare(&said->first, &f) <= 0)
        return;
    str_copy_clean(f.headline, sizeof f.headline, str_from(finding->headline));
    said->first = f;
    str_copy_clean(said->code, sizeof said->code, str_from(finding->code));
    str_copy_clean(said->process, sizeof said->process, str_from(finding->process));
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

void fleet_note_say(struct fleet_note *n, const char *code, enum health_effect effect, const char *headline)
{
    n->said.effect = MAX_OF(n->said.effect, effect);
    fleet_said_add(&n->said, &(struct fleet_finding){
                                 .code = code, .process = "", .headline = headline, .severity = SEVERITY_WARNING, .confidence = 1});
}

static enum fleet_state state_of(const struct fleet_said *said)
{
    static const enum fleet_state states[] = {
        [EFFECT_DEGRADED] = FLEET_DEGRADED, [EFFECT_FAILING] = FLEET_FAILING, [EFFECT_LOST] = FLEET_LOST};
    if (!said->code[0])
        return FLEET_UNJUDGED;
    if (said->effect)
        return states[said->effect];
    return said->first.severity > SEVERITY_INFO ? FLEET_UNUSUAL : said->held ? FLEET_HELD : FLEET_FINE;
}

/* The title of a finding behind "GPU 3: "; names like PCIe keep their capitals. A newer whirr's code stands for its title. */
static void write_title(const struct fleet_said *said, bool begins, char *text, size_t size)
{
    if (said->first.code < FINDING_CODE_COUNT) {
        snprintf(text, size, "%s", finding_kind(said->first.code)->title);
        if (!begins && text[0] >= 'A' && text[0] <= 'Z' && (text[1] == ' ' || (text[1] >= 'a' && text[1] <= 'z')))
            text[0] = (char)(text[0] - 'A' + 'a');
    } else {
        snprintf(text, size, "%s", said->code);
    }
    if (said->process[0])
        snprintf(text + strlen(text), size - strlen(text), " (%s)", said->process);
}

void fleet_headline(const struct fleet_gpu *g, char *text, size_t size)
{
    char title[FINDING_HEADLINE_SIZE];
    text[0] = '\0';
    if (!g->said.code[0])
        return;
    write_title(&g->said, false, title, sizeof title);
    if (g->said.first.headline[0])
        snprintf(text, size, "%s", g->said.first.headline);
    else
        snprintf(text, size, "GPU %s: %s", g->gpu[0] ? g->gpu : g->uuid, title);
}

/* ---- after the last answer ---- */

bool fleet_has_gpus(const struct fleet *f, const char *host)
{
    size_t from = 0, to = f->gpu_count;
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

static void settle_gpu(struct fleet_gpu *g)
{
    int64_t index;
    if (!g->said.code[0] && !g->up) /* an older whirr says as much by gpu_up */
        g->said.first = (struct finding){.code = FINDING_LOST, .severity = SEVERITY_CRITICAL, .confidence = 1};
    g->said.first.power_mw = reading_or(g->power_mw, 0);
    g->said.first.gpu_index = str_to_i64(str_from(g->gpu), &index) ? (int)index : -1;
    g->state = !g->said.code[0] && !g->up ? FLEET_LOST : state_of(&g->said);
}

void fleet_settle(struct fleet *f)
{
    for (size_t i = 0; i < f->gpu_count; i++)
        settle_gpu(&f->gpus[i]);
    f->silent = 0;
    for (size_t i = 0; i < f->note_count; i++) {
        struct fleet_note *n = &f->notes[i];
        n->silent = n->silent && !fleet_has_gpus(f, n->host);
        f->silent += n->silent;
        if (n->silent) /* before what else is worth a warning */
            n->said.first = (struct finding){.code = FINDING_LOST, .severity = SEVERITY_WARNING, .confidence = 1, .gpu_index = -1};
    }
}

/* ---- hosts ---- */

static void hosts_add(struct reading *to, struct reading from)
{
    if (from.state == READING_OK)
        *to = reading_ok(reading_or(*to, 0) + from.value);
}

static void hosts_add_up(struct fleet_host *h)
{
    int64_t util = 0, known = 0, value;
    for (size_t i = 0; i < h->count; i++) {
        const struct fleet_gpu *g = &h->gpus[i];
        h->state = MAX_OF(h->state, g->state);
        if (i == 0 || finding_compare(&g->said.first, &h->first->first) < 0)
            h->first = &g->said;
        hosts_add(&h->used_bytes, g->used_bytes);
        hosts_add(&h->total_bytes, g->total_bytes);
        hosts_add(&h->power_mw, g->power_mw);
        if (reading_get(g->temp_mdegc, &value) && value > reading_or(h->temp_mdegc, INT64_MIN))
            h->temp_mdegc = g->temp_mdegc;
        if (reading_get(g->util_permille, &value)) {
            util += value;
            known++;
        }
    }
    if (known)
        h->util_permille = reading_ok(util / known);
    const struct fleet_note *own = h->said;
    if (!own || (!own->silent && !own->said.code[0]))
        return;
    h->state = MAX_OF(h->state, own->silent ? FLEET_SILENT : state_of(&own->said));
    if (!h->count || finding_compare(&own->said.first, &h->first->first) < 0)
        h->first = &own->said;
}

static const char *const state_words[FLEET_STATES] = {"",         "not judged",    "held but idle", "unusual",
                                                      "degraded", "not answering", "failing",       "lost"};

/* "not answering for 2h 48m", "The driver is not loaded". */
static void write_own_note(struct fleet_host *h)
{
    const struct fleet_note *n = h->said;
    char span[WORDS_SIZE];
    if (n->expected_only)
        snprintf(h->note, sizeof h->note, "expected, but not seen in the last week");
    else if (n->silent)
        snprintf(h->note, sizeof h->note, "%s%s%s", state_words[FLEET_SILENT], n->silent_ms ? " for " : "",
                 n->silent_ms ? words_duration(n->silent_ms, span) : "");
    else if (n->said.first.headline[0])
        snprintf(h->note, sizeof h->note, "%s", n->said.first.headline);
    else
        write_title(&n->said, true, h->note, sizeof h->note);
}

/* "GPU 3 is lost", "4 GPUs are held but idle (61 GiB)", "GPU 1 is failing: memory errors could not be corrected",
 * "2 GPUs: the fan is loud". */
static void write_gpu_note(struct fleet_host *h, const struct fleet_gpu *first, size_t count, int64_t bytes)
{
    char who[GPU_UUID_SIZE + 16], title[FINDING_HEADLINE_SIZE] = "", amount[WORDS_SIZE];
    const struct fleet_said *said = &first->said;
    if (count > 1)
        snprintf(who, sizeof who, "%zu GPUs", count);
    else
        snprintf(who, sizeof who, "GPU %s", first->gpu[0] ? first->gpu : first->uuid);
    if (said->code[0] && said->first.code != FINDING_LOST)
        write_title(said, false, title, sizeof title);
    const char *is = count > 1 ? "are" : "is";
    if (first->state == FLEET_HELD)
        snprintf(h->note, sizeof h->note, "%s %s %s (%s)", who, is, state_words[FLEET_HELD], words_bytes(bytes, amount));
    else if (count == 1 && said->first.headline[0])
        snprintf(h->note, sizeof h->note, "%s", said->first.headline);
    else if (first->state == FLEET_UNUSUAL)
        snprintf(h->note, sizeof h->note, "%s: %s", who, title);
    else
        snprintf(h->note, sizeof h->note, "%s %s %s%s%s", who, is, state_words[first->state], title[0] ? ": " : "", title);
}

static bool is_same(const struct fleet_gpu *a, const struct fleet_gpu *b)
{
    return a->state == b->state &&
           (a->state == FLEET_HELD || (a->said.first.severity == b->said.first.severity &&
                                       a->said.first.code == b->said.first.code && strcmp(a->said.code, b->said.code) == 0));
}

static void write_note(struct fleet_host *h)
{
    const struct fleet_gpu *worst = NULL;
    bool trouble = h->first->first.severity > SEVERITY_INFO;
    int64_t bytes = 0;
    size_t count = 0;
    if (trouble && h->said && h->first == &h->said->said) {
        write_own_note(h);
        return;
    }
    for (size_t i = 0; i < h->count; i++) {
        const struct fleet_gpu *g = &h->gpus[i];
        if (trouble ? h->first == &g->said : g->state > (worst ? worst->state : FLEET_FINE))
            worst = g;
    }
    for (size_t i = 0; i < h->count && worst; i++)
        if (is_same(worst, &h->gpus[i])) {
            bytes += reading_or(h->gpus[i].used_bytes, 0);
            count++;
        }
    if (worst)
        write_gpu_note(h, worst, count, bytes);
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
        if (at == *count && !n->silent && n->said.first.severity == SEVERITY_INFO)
            continue; /* a host without a GPU */
        list[at].name = n->host;
        list[at].said = n;
        *count = MAX_OF(*count, at + 1);
    }
}

struct fleet_host *fleet_hosts(const struct fleet *f, size_t *count)
{
    size_t most = f->gpu_count + f->note_count;
    struct fleet_host *list = most ? calloc(most, sizeof *list) : NULL;
    *count = 0;
    for (size_t i = 0; list && i < f->gpu_count; i++) {
        if (!*count || strcmp(list[*count - 1].name, f->gpus[i].host) != 0)
            list[(*count)++] = (struct fleet_host){.name = f->gpus[i].host, .gpus = &f->gpus[i]};
        list[*count - 1].count++;
    }
    if (list)
        take_notes(f, list, count);
    for (size_t i = 0; i < *count; i++) {
        hosts_add_up(&list[i]);
        write_note(&list[i]);
    }
    if (list)
        qsort(list, *count, sizeof *list, worst_first);
    return list;
}

/* " (gpu7, gpu9 and 3 more)", in the order of their names. */
static void name_silent(const struct fleet *f, struct buf *out)
{
    enum { NAMED = 3 };
    const char *names[NAMED + 1] = {0};
    size_t count = 0;
    for (size_t i = 0; i < f->note_count; i++) {
        const char *name = f->notes[i].silent ? f->notes[i].host : NULL;
        for (size_t k = 0; name && k < NAMED; k++)
            if (!names[k] || strverscmp(name, names[k]) < 0) {
                const char *next = names[k];
                names[k] = name;
                name = next;
            }
        count += f->notes[i].silent;
    }
    for (size_t k = 0; k < NAMED && names[k]; k++)
        buf_printf(out, "%s%s", k ? ", " : " (", names[k]);
    if (count > NAMED)
        buf_printf(out, " and %zu more", count - NAMED);
    buf_char(out, ')');
}

void fleet_answer(const struct fleet *f, char *text, size_t size)
{
    size_t states[FLEET_STATES] = {0}, hosts = 0;
    struct reading power = {0};
    int64_t util = 0, known = 0, value;
    for (size_t i = 0; i < f->gpu_count; i++) {
        states[f->gpus[i].state]++;
        hosts += i == 0 || strcmp(f->gpus[i - 1].host, f->gpus[i].host) != 0;
        hosts_add(&power, f->gpus[i].power_mw);
        if (reading_get(f->gpus[i].util_permille, &value)) {
            util += value;
            known++;
        }
    }
    char percent[WORDS_SIZE], watts[WORDS_SIZE];
    AUTO_BUF struct buf out = BUF(1024);
    buf_printf(&out, "%zu host%s, %zu GPU%s", hosts, hosts == 1 ? "" : "s", f->gpu_count, f->gpu_count == 1 ? "" : "s");
    if (known)
        buf_printf(&out, ", %s utilized", words_percent(util / known, percent));
    if (reading_get(power, &value) && value < 1000000)
        buf_printf(&out, ", %s", words_power(value, watts));
    else if (power.state == READING_OK)
        buf_printf(&out, ", %.1f kW", (double)value / 1e6);
    bool any = false;
    for (int state = FLEET_STATES - 1; state > FLEET_FINE; state--)
        if (states[state]) {
            buf_printf(&out, "%s%zu %s", any ? ", " : ": ", states[state], state_words[state]);
            any = true;
        }
    if (f->missing)
        buf_printf(&out, "%s%zu GPU%s missing", any ? ", " : ": ", f->missing, f->missing == 1 ? "" : "s");
    if (f->silent) {
        buf_printf(&out, "%s%zu host%s not answering", any || f->missing ? ", " : ": ", f->silent, f->silent == 1 ? "" : "s");
        name_silent(f, &out);
    }
    str_copy(text, size, buf_view(&out));
}

/* ---- what fits where ---- */

static int tightest_first(const void *a, const void *b)
{
    const struct fleet_gpu *x = *(const struct fleet_gpu *const *)a, *y = *(const struct fleet_gpu *const *)b;
    bool x_judged = x->said.code[0], y_judged = y->said.code[0];
    if (x_judged != y_judged)
        return x_judged ? -1 : 1;
    bool x_busy = load_is_work(x->util_permille), y_busy = load_is_work(y->util_permille);
    if (x_busy != y_busy)
        return x_busy ? 1 : -1;
    int64_t x_room = fleet_room(x).value, y_room = fleet_room(y).value;
    if (x_room != y_room)
        return x_room > y_room ? 1 : -1;
    int order = strverscmp(x->host, y->host);
    return order ? order : strverscmp(x->gpu, y->gpu);
}

bool fleet_is_usable(const struct fleet_gpu *g)
{
    return g->up && !g->said.forbids;
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
        bool too_small = g->divided && reading_or(g->instance_most_bytes, INT64_MAX) < bytes;
        count += fleet_is_usable(g) && fleet_room(g).state != READING_OK && !too_small;
    }
    return count;
}

const struct fleet_gpu **fleet_fitting(const struct fleet *f, int64_t bytes, size_t *count)
{
    const struct fleet_gpu **list = calloc(f->gpu_count + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; list && i < f->gpu_count; i++) {
        const struct fleet_gpu *g = &f->gpus[i];
        int64_t room;
        if (fleet_is_usable(g) && reading_get(fleet_room(g), &room) && room >= bytes)
            list[(*count)++] = g;
    }
    if (list && *count)
        qsort(list, *count, sizeof *list, tightest_first);
    return list;
}

/* ---- who ---- */

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

/* One a key, which stays where it was; `gpu` holds how many hosts, `process` how many groups. Hosts of a key follow each other. */
static size_t add_up_groups(struct fleet_process *list, size_t count, enum fleet_by by)
{
    size_t kept = 0;
    qsort_r(list, count, sizeof *list, by_key, &by);
    for (size_t i = 0, end; i < count; i = end) {
        struct fleet_process sum = list[i];
        size_t hosts = 1;
        for (end = i + 1; end < count && strcmp(fleet_key(&list[end], by), fleet_key(&list[i], by)) == 0; end++) {
            hosts_add(&sum.mem_bytes, list[end].mem_bytes);
            hosts_add(&sum.util_permille, list[end].util_permille);
            hosts_add(&sum.power_mw, list[end].power_mw);
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
