/* SPDX-License-Identifier: Apache-2.0
 * Scenario files: lines of facts with a context (which GPU, which process), and blocks of expectations.
 */
#include "why_scenario.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "host/identity.h"
#include "insight/baseline/serving_usual.h"

static struct str behind(struct str line, size_t prefix)
{
    return (struct str){line.at + prefix, line.len - prefix};
}

static bool take_line(struct scenario *s, struct str line, const char *name)
{
    struct scenario_block *block = s->block_count ? &s->blocks[s->block_count - 1] : NULL;
    if (str_starts(line, "title ") && !s->title.len) {
        s->title = behind(line, 6);
    } else if (str_starts(line, "kind ")) {
        s->kind = str_is(line, "kind nothing unusual") ? SCENARIO_CALM : SCENARIO_UNKNOWN;
    } else if (str_is(line, "expect") || str_starts(line, "without ")) {
        if (s->block_count == SCENARIO_BLOCKS)
            return fprintf(stderr, "%s: too many blocks\n", name), false;
        s->blocks[s->block_count++].without = str_is(line, "expect") ? (struct str){0} : behind(line, 8);
    } else if (block) {
        if (block->count == SCENARIO_EXPECTATIONS)
            return fprintf(stderr, "%s: too many expectations\n", name), false;
        block->lines[block->count++] = line;
    } else {
        if (s->setup_count == SCENARIO_LINES)
            return fprintf(stderr, "%s: too many lines\n", name), false;
        s->setup[s->setup_count++] = line;
    }
    return true;
}

bool scenario_parse(struct scenario *s, char *text, const char *name)
{
    *s = (struct scenario){.text = text};
    struct str rest = str_from(text), line;
    while (str_cut(&rest, '\n', &line)) {
        line = str_trim(line);
        if (line.len && line.at[0] != '#' && !take_line(s, line, name))
            return false;
    }
    return s->title.len && s->block_count ? true : (fprintf(stderr, "%s: needs a title and an expect block\n", name), false);
}

bool scenario_read(struct scenario *s, const char *path)
{
    *s = (struct scenario){0};
    AUTO_FCLOSE FILE *f = fopen(path, "r");
    if (!f)
        return fprintf(stderr, "%s: cannot open\n", path), false;
    char *text = calloc(1, 65536);
    if (!text)
        return false;
    text[fread(text, 1, 65535, f)] = '\0';
    return scenario_parse(s, text, path);
}

void scenario_done(struct scenario *s)
{
    free(s->text);
    *s = (struct scenario){0};
}

/* "40s", "5min", "2h" in milliseconds */
static bool duration(struct str text, int64_t *ret)
{
    int64_t unit = str_ends(text, "min") ? 60000 : str_ends(text, "h") ? 3600000 : 1000, n;
    size_t suffix = unit == 60000 ? 3 : 1;
    if (text.len <= suffix || !str_to_i64((struct str){text.at, text.len - suffix}, &n))
        return false;
    *ret = n * unit;
    return true;
}

struct builder {
    struct scenario_machine *m;
    struct str without;
    size_t gpu_next;
    struct gpu *gpu;
    struct process *process; /* of the GPU, or of `ended` */
    struct recent_process *ended;
    char gpu_path[SCENARIO_PATH], item_path[SCENARIO_PATH];
};

static bool begins_with_words(const char *path, struct str words)
{
    return strncmp(path, words.at, words.len) == 0 && (path[words.len] == '\0' || path[words.len] == ' ');
}

/* A line is named by its own words behind those of the process and the GPU that it belongs to. */
static bool taken_away(const struct builder *b, struct str line)
{
    char inner[2 * SCENARIO_PATH], outer[3 * SCENARIO_PATH];
    snprintf(inner, sizeof inner, "%s%s" STR_FMT, b->item_path, b->item_path[0] ? " " : "", STR_ARG(line));
    snprintf(outer, sizeof outer, "%s %s", b->gpu_path, inner);
    struct str rest = b->without, item;
    while (str_cut(&rest, ',', &item)) {
        item = str_trim(item);
        if (item.len && (begins_with_words(inner, item) || begins_with_words(outer, item)))
            return true;
    }
    return false;
}

static bool set_scaled(struct reading *reading, double scale, double value)
{
    *reading = reading_ok(llround(value / scale));
    return true;
}

/* evidence main_disk_percent 90, evidence mount /mnt/data */
static bool set_evidence(struct process *p, struct str rest)
{
    struct str key;
    double number;
    str_word(&rest, &key);
    rest = str_trim(rest);
    if (!process_evidence(p))
        return false;
    p->host->state = READING_OK;
    p->host->looks = 10;
    p->host->over_ms = 5000;
    const struct {
        const char *key;
        char *to;
        size_t size;
    } texts[] = {
        {"mount", p->host->mount, sizeof p->host->mount},
        {"peer", p->host->peer, sizeof p->host->peer},
        {"collective", p->host->collective, sizeof p->host->collective},
        {"code", p->host->code, sizeof p->host->code},
        {"compiler", p->host->compiler, sizeof p->host->compiler},
        {"busiest_child", p->host->busiest_child, sizeof p->host->busiest_child},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (str_is(key, texts[i].key)) {
            str_copy(texts[i].to, texts[i].size, rest);
            return true;
        }
    for (size_t i = 0; i < EVIDENCE_COUNT; i++)
        if (str_is(key, evidence_table[i].json_key) && str_to_double(rest, &number))
            return set_scaled(&p->host->metric[i], evidence_table[i].json_scale, number);
    return false;
}

/* usually tokens_per_second 900 requests 12 tokens_per_joule 2 prompt_tokens 2.7 days 9: so many days of half an hour of it, of the
 * model of the line above */
static bool set_usual_serving(struct builder *b, const struct process *p, struct str rest)
{
    struct baselines *all = b->m->usual ? b->m->usual : (b->m->usual = calloc(1, sizeof *all));
    double tokens = 0, requests = 1, per_joule = 0, prompt = 0, days = 0, number;
    struct serving_learner *l = serving_learner_new(0);
    struct str key, value;
    while (all && l && str_word(&rest, &key)) {
        double *to = str_is(key, "tokens_per_second")  ? &tokens
                     : str_is(key, "requests")         ? &requests
                     : str_is(key, "tokens_per_joule") ? &per_joule
                     : str_is(key, "prompt_tokens")    ? &prompt
                     : str_is(key, "days")             ? &days
                                                       : NULL;
        if (!to || !str_word(&rest, &value) || !str_to_double(value, &number))
            return serving_learner_free(l), false;
        *to = number;
    }
    for (int i = 0; all && l && i < (int)days * 30; i++) {
        int64_t back_ms = ((int64_t)days - i / 30) * INT64_C(86400000);
        serving_learn(l, &(struct serving_row){.at = {b->m->now->taken_at.ms - back_ms + i % 30 * 60000},
                                               .model = p->model,
                                               .gpu_name = b->gpu->id.name,
                                               .gpus = 1,
                                               .ms = 60000,
                                               .busy_ms = 60000,
                                               .request_ms = llround(60000 * requests),
                                               .generated_milli = llround(60000 * tokens),
                                               .prompt_milli = prompt > 0 ? reading_ok(llround(60000 * tokens * prompt))
                                                                          : reading_absent(READING_UNSUPPORTED),
                                               .energy_uj = per_joule > 0 ? reading_ok(llround(60 * tokens / per_joule * 1e6))
                                                                          : reading_absent(READING_UNSUPPORTED)});
    }
    if (all && l)
        serving_conclude(l, &all->serving);
    serving_learner_free(l);
    return all && l;
}

/* environment NAME=VALUE NAME=VALUE */
static void set_environment(struct process *p, struct str value)
{
    struct process_job job;
    char text[256];
    str_copy(text, sizeof text, value);
    for (size_t i = 0; i < value.len; i++)
        text[i] = text[i] == ' ' ? '\0' : text[i];
    process_job(STR(""), (struct str){text, value.len}, &job);
    p->variables = job.variables;
}

static bool set_process_fact(struct builder *b, struct str key, struct str value)
{
    struct process *p = b->process;
    double number;
    int64_t ms;
    if (str_is(key, "user"))
        str_copy(p->user, sizeof p->user, value);
    else if (str_is(key, "command"))
        str_copy(p->command, sizeof p->command, value), process_find_title(p);
    else if (str_is(key, "container"))
        str_copy(p->container, sizeof p->container, value);
    else if (str_is(key, "model"))
        str_copy(p->model, sizeof p->model, value);
    else if (str_is(key, "title"))
        str_copy(p->title, sizeof p->title, value);
    else if (str_is(key, "job"))
        str_copy(p->job, sizeof p->job, value);
    else if (str_is(key, "rank") && str_to_i64(value, &ms))
        p->rank = reading_ok(ms);
    else if (str_is(key, "world_size") && str_to_i64(value, &ms))
        p->world_size = reading_ok(ms);
    else if (str_is(key, "evidence"))
        return set_evidence(p, value);
    else if (str_is(key, "usually"))
        return set_usual_serving(b, p, value);
    else if (str_is(key, "environment"))
        set_environment(p, value);
    else if (str_is(key, "outside"))
        p->visible = false;
    else if (str_is(key, "parent") && str_to_i64(value, &ms))
        p->parent = (int32_t)ms;
    else if (str_is(key, "in") && str_to_i64(value, &ms))
        p->instance = (int32_t)ms;
    else if (str_is(key, "started") && duration(value, &ms))
        p->started_at.ms = b->m->now->taken_at.ms - ms;
    else if (b->ended && str_is(key, "ago") && duration(value, &ms))
        b->ended->last_seen.ms = b->m->now->taken_at.ms - ms;
    else if (b->ended && str_is(key, "ran") && duration(value, &ms))
        b->ended->first_seen.ms = b->ended->last_seen.ms - ms;
    else {
        for (size_t i = 0; i < PROCESS_METRIC_COUNT; i++)
            if (str_is(key, process_metric_table[i].json) && str_to_double(value, &number)) {
                set_scaled(&p->metric[i], process_metric_table[i].json_scale, number);
                if (b->ended && i == PROCESS_METRIC_util_permille)
                    b->ended->mean_util_permille = p->metric[i];
                return true;
            }
        return false;
    }
    return true;
}

static bool set_throttle(struct gpu *gpu, struct str words)
{
    struct str rest = str_is(words, "none") ? (struct str){0} : words, word;
    int64_t bits = 0;
    while (str_cut(&rest, ',', &word)) {
        unsigned bit = 0;
        while (bit < THROTTLE_COUNT && !str_is(str_trim(word), throttle_name(bit)))
            bit++;
        if (bit == THROTTLE_COUNT)
            return false;
        bits |= 1 << bit;
    }
    gpu->throttle_bits = reading_ok(bits);
    return true;
}

/* usual temperature_celsius 68 low 66 high 71 fan_percent 52 days 21, at the power and the limit of the lines above */
static bool set_usual(struct builder *b, struct str rest)
{
    struct baselines *all = b->m->usual ? b->m->usual : (b->m->usual = calloc(1, sizeof *all));
    if (!all || b->gpu->power_mw.state != READING_OK || b->gpu->power_limit_mw.state != READING_OK)
        return false;
    struct baseline *usual = &all->list[all->count++];
    int64_t limit_mw = b->gpu->power_limit_mw.value, bin = b->gpu->power_mw.value * BASELINE_BINS / limit_mw;
    struct baseline_band *temp = &usual->temp_mdegc[bin < BASELINE_BINS ? bin : BASELINE_BINS - 1];
    struct baseline_band *fan = &usual->fan_permille[temp - usual->temp_mdegc];
    struct str key, value;
    double number;
    usual->id = b->gpu->id;
    usual->power_limit_mw = limit_mw;
    while (str_word(&rest, &key)) {
        if (!str_word(&rest, &value) || !str_to_double(value, &number))
            return false;
        int64_t thousand = llround(number * 1000);
        if (str_is(key, "temperature_celsius"))
            temp->typical = thousand;
        else if (str_is(key, "low"))
            temp->low = thousand;
        else if (str_is(key, "high"))
            temp->high = thousand;
        else if (str_is(key, "fan_percent"))
            fan->low = fan->typical = fan->high = llround(number * 10);
        else if (str_is(key, "days"))
            usual->days = temp->days = (int)number;
        else
            return false;
    }
    fan->days = fan->typical ? temp->days : 0;
    usual->until = b->m->now->taken_at;
    usual->since.ms = usual->until.ms - usual->days * INT64_C(86400000);
    return true;
}

static enum property property_named(struct str key)
{
    size_t i = 0;
    while (i < PROPERTY_COUNT && !str_is(key, property_table[i].json))
        i++;
    return (enum property)i;
}

static bool set_gpu_fact(struct builder *b, struct str key, struct str value)
{
    struct gpu *gpu = b->gpu;
    double number;
    char name[64];
    str_copy(name, sizeof name, key);
    if (str_is(key, "simulated")) {
        gpu->simulated = true;
    } else if (str_is(key, "hidden") && str_to_double(value, &number)) {
        gpu->processes_hidden = (size_t)number;
    } else if (str_is(key, "processes")) {
        char state[32];
        str_copy(state, sizeof state, value);
        return reading_state_from_name(state, &gpu->processes_state);
    } else if (str_is(key, "denied")) {
        gpu_mark_absent(gpu, GROUP_ALL, READING_DENIED);
        gpu->processes_state = READING_DENIED;
    } else if (str_is(key, "utilization_pending")) {
        gpu->util_permille = reading_absent(READING_PENDING);
    } else if (str_is(key, "instance")) {
        struct gpu *instance = gpu_add_instance(gpu);
        if (!instance)
            return false;
        str_copy(instance->profile, sizeof instance->profile, value);
    } else if (str_is(key, "state")) {
        struct str state;
        char message[128];
        str_word(&value, &state);
        str_copy(message, sizeof message, str_trim(value));
        gpu_mark_state(gpu, str_is(state, "lost") ? GPU_LOST : str_is(state, "asleep") ? GPU_ASLEEP : GPU_ERROR, message);
    } else if (property_named(key) != PROPERTY_COUNT) {
        char text[GPU_TEXT_SIZE];
        str_copy(text, sizeof text, value);
        gpu_set_property(gpu, property_named(key), text);
    } else if (str_is(key, "driver_release")) {
        str_copy(b->m->now->driver.driver_version, sizeof b->m->now->driver.driver_version, value);
    } else if (str_is(key, "vendor")) {
        str_copy(gpu->id.vendor, sizeof gpu->id.vendor, value);
    } else if (str_is(key, "usual")) {
        return set_usual(b, value);
    } else if (str_is(key, "throttle_reasons")) {
        return set_throttle(gpu, value);
    } else {
        enum metric metric = metric_from_json(name);
        if (metric != METRIC_COUNT && str_is(value, "-"))
            return gpu->metric[metric] = (struct reading){0}, true;
        return metric != METRIC_COUNT && str_to_double(value, &number) &&
               set_scaled(&gpu->metric[metric], metric_table[metric].json_scale, number);
    }
    return true;
}

static struct recent_gpu *past_of(struct builder *b)
{
    b->m->has_past = true;
    struct recent_gpu *past = &b->m->past.gpus[b->gpu - b->m->now->gpus];
    past->id = b->gpu->id;
    return past;
}

bool scenario_course_value(struct str text, double share, size_t turn, double *ret)
{
    struct str first;
    double from, to;
    if (memchr(text.at, '~', text.len)) {
        double each[16];
        size_t count = 0;
        while (text.len && count < ARRAY_LEN(each)) {
            str_cut(&text, '~', &first);
            if (!str_to_double(first, &each[count++]))
                return false;
        }
        *ret = each[turn % count];
        return true;
    }
    str_cut(&text, '>', &first);
    if (!str_to_double(first, &from))
        return false;
    to = from;
    if (text.len && !str_to_double(text, &to))
        return false;
    *ret = from + (to - from) * share;
    return true;
}

static bool set_point(struct recent_point *point, struct str facts, double share, size_t turn)
{
    const struct {
        enum metric metric;
        struct reading *reading;
    } known[] = {
        {METRIC_util_permille, &point->util_permille},   {METRIC_power_mw, &point->power_mw},
        {METRIC_temp_mdegc, &point->temp_mdegc},         {METRIC_fan_permille, &point->fan_permille},
        {METRIC_mem_used_bytes, &point->mem_used_bytes}, {METRIC_clock_graphics_khz, &point->clock_graphics_khz},
    };
    struct str key, value;
    while (str_word(&facts, &key)) {
        double number;
        bool found = false;
        if (!str_word(&facts, &value) || !scenario_course_value(value, share, turn, &number))
            return false;
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            if (str_is(key, metric_table[known[i].metric].json))
                found = set_scaled(known[i].reading, metric_table[known[i].metric].json_scale, number);
        if (!found)
            return false;
    }
    return true;
}

/* "300s..40s every 10s", or without `every` */
static bool stretch(struct str *rest, int64_t *from, int64_t *to, int64_t *step)
{
    struct str range, word, from_text, after;
    if (!str_word(rest, &range))
        return false;
    after = *rest;
    if (str_word(&after, &word) && str_is(word, "every")) {
        if (!str_word(&after, &word) || !duration(word, step))
            return false;
        *rest = after;
    }
    str_cut(&range, '.', &from_text);
    return duration(from_text, from) && duration(behind(range, 1), to) && *from >= *to && *step > 0;
}

/* was 300s..40s every 10s KEY VALUE... */
static bool add_course(struct builder *b, struct str rest)
{
    struct scenario_course *c = &b->m->courses[b->m->course_count];
    if (b->m->course_count++ == SCENARIO_COURSES)
        return false;
    *c = (struct scenario_course){
        .gpu = (size_t)(b->gpu - b->m->now->gpus), .pid = b->process ? b->process->pid : 0, .step_ms = 5000};
    bool ok = stretch(&rest, &c->from_ms, &c->to_ms, &c->step_ms);
    c->facts = rest;
    return ok;
}

/* log 60s TEXT */
static bool add_log(struct builder *b, struct str rest)
{
    struct scenario_log *log = &b->m->logs[b->m->log_count];
    struct str word;
    if (b->m->log_count++ == SCENARIO_LOGS || !str_word(&rest, &word))
        return false;
    log->text = str_trim(rest);
    return duration(word, &log->ago_ms);
}

/* past 300s..40s every 10s KEY VALUE... */
static bool add_past(struct builder *b, struct str rest)
{
    int64_t from, to, step = 0;
    if (!stretch(&rest, &from, &to, &step))
        return false;
    struct recent_gpu *past = past_of(b);
    for (int64_t ago = from; ago >= to; ago -= step) {
        if (past->count == RECENT_POINTS)
            return false;
        struct recent_point *point = &past->points[past->count++];
        *point = (struct recent_point){.at = {b->m->now->taken_at.ms - ago}};
        if (!set_point(point, rest, from == to ? 0 : (double)(from - ago) / (double)(from - to), (size_t)((from - ago) / step)))
            return false;
    }
    return true;
}

static bool add_source(struct builder *b, struct str rest)
{
    static const char *const states[] = {"off", "ok", "failing", "set_aside", "hung", "released", "asleep"};
    struct source_status *source = &b->m->now->sources[b->m->now->source_count++];
    struct str name, state;
    if (!str_word(&rest, &name) || !str_word(&rest, &state))
        return false;
    str_copy(source->name, sizeof source->name, name);
    str_copy(source->message, sizeof source->message, str_trim(rest));
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        if (str_is(state, states[i])) {
            source->state = (enum source_state)i;
            return true;
        }
    return false;
}

static bool start_process(struct builder *b, struct str rest, bool ended)
{
    struct str pid_text, name, type;
    int64_t pid;
    if (!str_word(&rest, &pid_text) || !str_to_i64(pid_text, &pid) || !str_word(&rest, &name) || !str_word(&rest, &type))
        return false;
    b->ended = NULL;
    if (ended) {
        b->m->has_past = true;
        b->ended = &b->m->past.ended[b->m->past.ended_count++];
        *b->ended = (struct recent_process){.gpu_index = b->gpu->index, .last_seen = b->m->now->taken_at};
        b->process = &b->ended->last;
        *b->process = (struct process){.pid = (int32_t)pid, .instance = -1, .visible = true};
    } else {
        b->process = gpu_add_process(b->gpu, (int32_t)pid);
    }
    if (!str_is(name, "-"))
        str_copy(b->process->name, sizeof b->process->name, name);
    b->process->type = str_is(type, "graphics") ? PROCESS_GRAPHICS : str_is(type, "both") ? PROCESS_BOTH : PROCESS_COMPUTE;
    for (size_t i = 0; i < PROCESS_METRIC_COUNT; i++)
        b->process->metric[i] = (struct reading){SCENARIO_NONSENSE, READING_UNSUPPORTED};
    snprintf(b->item_path, sizeof b->item_path, "%s " STR_FMT, ended ? "ended" : "process", STR_ARG(pid_text));
    return true;
}

static bool start_gpu(struct builder *b, struct str rest)
{
    struct str index_text;
    int64_t index;
    if (!str_word(&rest, &index_text) || !str_to_i64(index_text, &index))
        return false;
    b->gpu = &b->m->now->gpus[b->gpu_next++];
    b->gpu->index = (int)index;
    b->gpu->processes_state = READING_OK;
    str_copy(b->gpu->id.name, sizeof b->gpu->id.name, str_trim(rest));
    snprintf(b->gpu->id.uuid, sizeof b->gpu->id.uuid, "GPU-%d", (int)index);
    snprintf(b->gpu->id.pci_address, sizeof b->gpu->id.pci_address, "0000:1%d:00.0", (int)index % 10);
    snprintf(b->gpu_path, sizeof b->gpu_path, "gpu %d", (int)index);
    return true;
}

static bool set_host_fact(struct builder *b, struct str rest)
{
    struct str key;
    double number;
    str_word(&rest, &key);
    for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
        if (str_is(key, host_metric_table[i].json) && str_to_double(str_trim(rest), &number))
            return set_scaled(&b->m->now->host.metric[i], host_metric_table[i].json_scale, number);
    return false;
}

static bool build_line(struct builder *b, struct str line)
{
    struct str rest = line, key;
    str_word(&rest, &key);
    bool opens = str_is(key, "gpu") || str_is(key, "process") || str_is(key, "ended") || str_is(key, "past") ||
                 str_is(key, "source") || str_is(key, "host");
    if (opens) {
        b->item_path[0] = '\0';
        b->process = NULL;
        if (str_is(key, "gpu") || str_is(key, "source") || str_is(key, "host"))
            b->gpu_path[0] = '\0';
    }
    if (taken_away(b, line)) {
        /* What follows belongs to a thing that is not there, and must not be taken for a fact about the one before it. */
        if (opens)
            snprintf(str_is(key, "gpu") ? b->gpu_path : b->item_path, SCENARIO_PATH, STR_FMT, STR_ARG(line));
        return true;
    }
    if (str_is(key, "source"))
        return add_source(b, rest);
    if (str_is(key, "log"))
        return add_log(b, rest);
    if (str_is(key, "quick"))
        return b->m->quick = true;
    if (str_is(key, "may_control"))
        return b->m->now->may_control = true;
    if (str_is(key, "host"))
        return set_host_fact(b, rest);
    if (str_is(key, "gpu"))
        return start_gpu(b, rest);
    if (!b->gpu)
        return false;
    if (str_is(key, "past"))
        return add_past(b, rest);
    if (str_is(key, "was"))
        return add_course(b, rest);
    if (str_is(key, "process") || str_is(key, "ended"))
        return start_process(b, rest, str_is(key, "ended"));
    return b->process ? set_process_fact(b, key, str_trim(rest)) : set_gpu_fact(b, key, str_trim(rest));
}

bool scenario_build(const struct scenario *s, struct str without, struct scenario_machine *m)
{
    struct builder b = {.m = m, .without = without};
    size_t gpu_count = 0;
    for (size_t i = 0; i < s->setup_count; i++)
        gpu_count += str_starts(s->setup[i], "gpu ") && !taken_away(&b, s->setup[i]);
    *m = (struct scenario_machine){.now = snapshot_new(gpu_count)};
    m->past.gpus = calloc(gpu_count + 1, sizeof m->past.gpus[0]);
    m->past.gpu_count = gpu_count;
    if (!m->now || !m->past.gpus || !wall_parse(STR("2026-11-15T01:02:03Z"), &m->now->taken_at))
        return false;
    for (size_t i = 0; i < s->setup_count; i++)
        if (!build_line(&b, s->setup[i]))
            return fprintf(stderr, "not understood: " STR_FMT "\n", STR_ARG(s->setup[i])), false;
    for (size_t g = 0; g < gpu_count; g++)
        for (size_t i = 0; i < METRIC_COUNT; i++)
            if (m->now->gpus[g].metric[i].state != READING_OK) {
                m->now->gpus[g].metric[i].value = SCENARIO_NONSENSE;
                if (m->now->gpus[g].metric[i].state == READING_UNREAD)
                    m->now->gpus[g].metric[i].state = READING_UNSUPPORTED;
            }
    return true;
}

void scenario_machine_done(struct scenario_machine *m)
{
    snapshot_unref(m->now);
    free(m->usual);
    recent_done(&m->past);
}
