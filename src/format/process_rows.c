/* SPDX-License-Identifier: Apache-2.0
 * The processes of all GPUs: filtered and sorted; as JSON; as the table of `whirr ps`.
 */
#include "format/process_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "format/table/grid.h"
#include "format/table/table.h"
#include "insight/facts/levels.h"
#include "insight/facts/words.h"
#include "model/finding.h"
#include "model/finding_code.h"

/* Numbers are sorted in descending order, words alphabetically; absent values come last either way. */
enum sort_by { BY_GPU, BY_PID, BY_USER, BY_TYPE, BY_CONTAINER, BY_JOB, BY_MODEL, BY_NAME, BY_COMMAND, BY_AGE, BY_METRIC };

#define SORTS(X)                                                      \
    X("gpu", "gpu", BY_GPU, 0)                                        \
    X("memory", "vram", BY_METRIC, PROCESS_METRIC_mem_bytes)          \
    X("utilization", "util", BY_METRIC, PROCESS_METRIC_util_permille) \
    X("power", "watts", BY_METRIC, PROCESS_METRIC_power_mw)           \
    X("cpu", "cpu", BY_METRIC, PROCESS_METRIC_cpu_permille)           \
    X("host-memory", "ram", BY_METRIC, PROCESS_METRIC_host_mem_bytes) \
    X("pid", "pid", BY_PID, 0)                                        \
    X("user", "user", BY_USER, 0)                                     \
    X("name", "name", BY_NAME, 0)                                     \
    X("age", "age", BY_AGE, 0)                                        \
    X("mem", "bw", BY_METRIC, PROCESS_METRIC_mem_util_permille)       \
    X("enc", "enc", BY_METRIC, PROCESS_METRIC_encoder_permille)       \
    X("dec", "dec", BY_METRIC, PROCESS_METRIC_decoder_permille)       \
    X("type", "type", BY_TYPE, 0)                                     \
    X("container", "container", BY_CONTAINER, 0)                      \
    X("job", "job", BY_JOB, 0)                                        \
    X("model", "model", BY_MODEL, 0)                                  \
    X("command", "command", BY_COMMAND, 0)

/* An order has its own name, and that of its column. */
static const struct {
    const char *key, *column;
    enum sort_by by;
    enum process_metric metric;
} sorts[] = {
#define X(key, column, by, metric) {key, column, by, metric},
    SORTS(X)
#undef X
};

const char *const process_sort_keys[] = {
#define X(key, column, by, metric) key,
    SORTS(X)
#undef X
        NULL};

const char *const process_sort_names[] = {
#define X(key, column, by, metric) column,
    SORTS(X)
#undef X
        "memory",
    "utilization",
    "power",
    "host-memory",
    "mem",
    "sm",
    NULL};

static size_t find_sort(const char *name)
{
    size_t i = 0;
    name = strcasecmp(name, "sm") == 0 ? "util" : name; /* its column until 0.2 */
    while (i < ARRAY_LEN(sorts) && strcasecmp(sorts[i].key, name) != 0 && strcasecmp(sorts[i].column, name) != 0)
        i++;
    return i;
}

const char *process_sort_key(const char *name)
{
    size_t i = find_sort(name);
    return i < ARRAY_LEN(sorts) ? sorts[i].key : NULL;
}

static int order_of(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_metric(const struct process *a, const struct process *b, enum process_metric metric)
{
    return order_of(reading_or(b->metric[metric], -1), reading_or(a->metric[metric], -1));
}

static int by_word(const char *a, const char *b)
{
    if (!a[0] || !b[0])
        return order_of(!a[0], !b[0]);
    return strcasecmp(a, b);
}

struct sorting {
    size_t which;
    bool reverse;
};

static int process_rows_compare(const void *left, const void *right, void *context)
{
    const struct process_row *x = left, *y = right;
    const struct sorting *sorting = context;
    const struct process *a = x->process, *b = y->process;
    int order = 0;
    switch (sorts[sorting->which].by) {
    case BY_GPU: order = order_of(x->gpu->index, y->gpu->index); break;
    case BY_PID: order = order_of(a->pid, b->pid); break;
    case BY_USER: order = by_word(a->user, b->user); break;
    case BY_NAME: order = by_word(a->name, b->name); break;
    case BY_TYPE: order = order_of(a->type, b->type); break;
    case BY_CONTAINER: order = by_word(a->container, b->container); break;
    case BY_JOB:
        order = by_word(a->job, b->job);
        order = order ? order : order_of(reading_or(a->rank, INT64_MAX), reading_or(b->rank, INT64_MAX));
        break;
    case BY_MODEL: order = by_word(a->model, b->model); break;
    case BY_COMMAND: order = by_word(a->command, b->command); break;
    case BY_AGE:
        order = order_of(a->started_at.ms ? a->started_at.ms : INT64_MAX, b->started_at.ms ? b->started_at.ms : INT64_MAX);
        break;
    case BY_METRIC: order = by_metric(a, b, sorts[sorting->which].metric); break;
    }
    if (sorting->reverse)
        order = -order;
    /* Break ties in an order that is stable between samples. */
    order = order ? order : by_metric(a, b, PROCESS_METRIC_util_permille);
    order = order ? order : by_metric(a, b, PROCESS_METRIC_mem_bytes);
    order = order ? order : order_of(x->gpu->index, y->gpu->index);
    return order ? order : order_of(a->pid, b->pid);
}

static bool wanted(const struct process *p, const struct process_filter *filter)
{
    if (filter->user && strcmp(p->user, filter->user) != 0)
        return false;
    if (filter->name && !strcasestr(p->name, filter->name) && !strcasestr(p->command, filter->name))
        return false;
    if (filter->type && !(p->type & (enum process_type)filter->type))
        return false;
    return !filter->pid || p->pid == filter->pid;
}

int process_rows_init(struct process_rows *rows, const struct snapshot *s, const struct process_filter *filter)
{
    *rows = (struct process_rows){.only = filter->only, .whole = !filter->user && !filter->name && !filter->type && !filter->pid};
    size_t most = 0;
    for (size_t i = 0; i < s->gpu_count; i++)
        most += s->gpus[i].process_count;
    if (most) {
        rows->rows = malloc(most * sizeof *rows->rows);
        if (!rows->rows)
            return -ENOMEM;
    }
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        if (filter->only != ALL_GPUS && filter->only != (int)i)
            continue;
        rows->hidden += gpu->processes_hidden;
        rows->unknown += gpu->processes_state != READING_OK;
        for (size_t p = 0; p < gpu->process_count; p++)
            if (wanted(&gpu->processes[p], filter))
                rows->rows[rows->count++] = (struct process_row){gpu, &gpu->processes[p]};
    }
    struct sorting sorting = {filter->sort ? find_sort(filter->sort) : 0, filter->reverse};
    if (rows->count && sorting.which < ARRAY_LEN(sorts))
        qsort_r(rows->rows, rows->count, sizeof *rows->rows, process_rows_compare, &sorting);
    return 0;
}

static bool is_asked_for(const struct process *p, const char *asked)
{
    char words[PROCESS_WORDS];
    return strcasecmp(p->name, asked) == 0 || strcasestr(process_words(p, SHORT_NAME, words), asked) || strstr(p->command, asked);
}

int process_rows_find(struct process_rows *rows, const struct snapshot *s, const char *asked, int only, struct error *err)
{
    int64_t pid = 0;
    bool number = str_to_i64(str_from(asked), &pid) && pid > 0 && pid <= INT32_MAX;
    int rc = process_rows_init(rows, s, &(struct process_filter){.only = only, .pid = number ? (int32_t)pid : 0});
    size_t kept = 0;
    if (rc < 0)
        return error_set(err, rc, "out of memory");
    for (size_t i = 0; i < rows->count; i++)
        if (number || is_asked_for(rows->rows[i].process, asked))
            rows->rows[kept++] = rows->rows[i];
    rows->count = kept;
    if (!kept)
        return error_set(err, -ESRCH, number ? "no process %s is on a GPU" : "no process on a GPU is called '%s'", asked);
    return 0;
}

enum reading_state process_rows_state(const struct gpu *gpu)
{
    bool there = gpu->state == GPU_OK;
    return there ? gpu->processes_state : gpu->state == GPU_ASLEEP ? READING_ASLEEP : READING_FAILED;
}

static bool is_asked_gpu(const struct process_rows *rows, size_t position)
{
    return rows->only == ALL_GPUS || rows->only == (int)position;
}

const struct gpu *process_rows_unseen(const struct process_rows *rows, const struct snapshot *s, size_t *position)
{
    for (; *position < s->gpu_count; ++*position)
        if (is_asked_gpu(rows, *position) && process_rows_state(&s->gpus[*position]) != READING_OK)
            return &s->gpus[(*position)++];
    return NULL;
}

/* Memory in use is a process that can't be seen, where the verdict says so. */
static void add_unowned(struct text *to, const struct process_rows *rows, const struct snapshot *s)
{
    for (size_t i = 0; i < s->gpu_count && rows->whole; i++) {
        const struct finding *f = is_asked_gpu(rows, i) ? verdict_find(s->verdict, s->gpus[i].index, FINDING_MEMORY_UNOWNED) : NULL;
        if (f)
            text_append(to, "%s%s.", to->len ? " " : "", f->headline);
    }
}

/* An empty list may mean that nothing runs, that nothing could be read, or that there are no GPUs. */
enum reading_state process_rows_answer(const struct process_rows *rows, const struct snapshot *s, char text[PROCESS_ROWS_ANSWER])
{
    const struct finding *first = verdict_main(s->verdict);
    const struct gpu *unseen = NULL;
    struct text to = {.at = text, .size = PROCESS_ROWS_ANSWER};
    bool known = first && first->gpu_index < 0 && first->code != FINDING_NO_GPU;
    size_t at = 0, missing = 0, asked = rows->only == ALL_GPUS ? s->gpu_count : 1;
    text[0] = '\0';
    for (const struct gpu *gpu; (gpu = process_rows_unseen(rows, s, &at)); missing++)
        unseen = unseen ? unseen : gpu;
    if (s->gpu_count == 0)
        text_append(&to, "%s.", known ? first->headline : "No GPU was found on this host");
    else if (unseen && unseen->released)
        text_append(&to, "GPU %d is released on request: its processes are not looked at.", unseen->index);
    else if (unseen && unseen->state == GPU_ASLEEP)
        text_append(&to, "GPU %d is asleep: nothing runs there.", unseen->index);
    else if (unseen)
        text_append(&to, "The processes on %zu of %zu GPU%s could not be looked at (%s%s%s).", missing, asked,
                    asked == 1 ? "" : "s", reading_state_name(process_rows_state(unseen)), unseen->error_message[0] ? ": " : "",
                    unseen->error_message);
    add_unowned(&to, rows, s);
    if (!to.len && !rows->count)
        text_append(&to, rows->whole ? "No process is using a GPU." : "No such process is using a GPU.");
    return asked != missing || (!unseen && !known) ? READING_OK : unseen ? process_rows_state(unseen) : READING_FAILED;
}

void process_rows_done(struct process_rows *rows)
{
    free(rows->rows);
    *rows = (struct process_rows){0};
}

static int biggest(const void *left, const void *right)
{
    return gpu_process_order(*(const struct process *const *)left, *(const struct process *const *)right);
}

size_t process_biggest_first(const struct gpu *gpu, const struct process **sorted)
{
    for (size_t i = 0; i < gpu->process_count; i++)
        sorted[i] = &gpu->processes[i];
    if (gpu->process_count)
        qsort(sorted, gpu->process_count, sizeof *sorted, biggest);
    return gpu->process_count;
}

bool process_rows_remainder(const struct process_rows *rows, const struct snapshot *s, size_t position)
{
    const struct gpu *gpu = &s->gpus[position];
    bool asked = rows->whole && (rows->only == ALL_GPUS || rows->only == (int)position);
    bool has_processes = gpu->process_count || gpu->processes_hidden || gpu->processes_state != READING_OK;
    return asked && has_processes && gpu->not_attributed_mw.state == READING_OK;
}

const char *process_basis_word(enum power_basis basis)
{
    switch (basis) {
    case POWER_BASIS_NONE: return "";
    case POWER_BASIS_UTILIZATION: return "util";
    case POWER_BASIS_MEMORY: return "memory";
    case POWER_BASIS_ONLY_PROCESS: return "alone";
    }
    return "";
}

const char *process_type_word(enum process_type type)
{
    switch (type) {
    case PROCESS_COMPUTE: return "compute";
    case PROCESS_GRAPHICS: return "graphics";
    case PROCESS_BOTH: return "both";
    }
    return "";
}

void process_container_words(char *text, size_t size, const struct process *p)
{
    const char *container = p->container;
    if (p->container_name[0]) {
        str_copy(text, size, str_from(p->container_name));
        return;
    }
    const char *id = container + (strrchr(container, '/') ? strrchr(container, '/') - container + 1 : 0);
    bool hex = strlen(id) >= 64 && strspn(id, "0123456789abcdef") == strlen(id);
    str_copy(text, size, (struct str){id, hex ? 12 : strlen(id)});
}

/* ---- JSON ---- */

struct told_processes {
    const struct snapshot *s;
    const struct process_rows *rows;
    enum reading_state state;
    struct wall at;
    char answer[PROCESS_ROWS_ANSWER];
};

static const void *next_not_listed(const struct answer_at *at, struct answer_step *step)
{
    const struct told_processes *told = at->record;
    return process_rows_unseen(told->rows, told->s, &step->at);
}

/* GPUs whose power the processes don't fully explain. */
static const void *next_not_attributed(const struct answer_at *at, struct answer_step *step)
{
    const struct told_processes *told = at->record;
    for (; step->at < told->s->gpu_count; step->at++)
        if (process_rows_remainder(told->rows, told->s, step->at))
            return &told->s->gpus[step->at++];
    return NULL;
}

static bool make_reason(const struct answer_at *at, union answer_value *ret)
{
    ret->word = reading_state_name(process_rows_state(at->record));
    return true;
}

ANSWER_TABLE(not_listed_answer, struct gpu)
{
    FIELD(INT, "gpu_index", index, NULL);
    MADE(WORD, "reason", make_reason, NULL);
    FIELD(TEXT, "message", error_message, NULL, OR_NULL);
}

ANSWER_TABLE(not_attributed_answer, struct gpu)
{
    FIELD(INT, "gpu_index", index, NULL);
    FIELD(READING, "power_watts", not_attributed_mw, NULL, SCALE(1e-3));
}

ANSWER_TABLE(rows_answer, struct process_rows)
{
    FIELD(INT, "count", count, NULL);
    FIELD(INT, "hidden", hidden, "Exist, but may not be seen", COUNTS);
}

static const void *next_row(const struct answer_at *at, struct answer_step *step)
{
    const struct process_rows *rows = ((const struct told_processes *)at->record)->rows;
    return step->at < rows->count ? &rows->rows[step->at++] : NULL;
}

SHARED_ANSWER_TABLE(processes_answer, struct told_processes, .name = "Processes")
{
    EACH(OBJECT, "processes", next_row, "Empty with a reason in `absent` where the processes of no GPU could be looked at",
         FIELDS(process_row_answer), STATE(state), STAYS);
    EACH(OBJECT, "not_listed", next_not_listed, "GPUs whose processes could not be looked at", FIELDS(not_listed_answer));
    FIELD(TEXT, "answer", answer,
          "Why the list is empty or not whole: nothing runs, no GPU, no driver, no permission, memory that no visible process "
          "holds; null where it is whole and has rows",
          OR_NULL, COUNTS);
    EACH(OBJECT, "not_attributed", next_not_attributed,
         "Per GPU, the power that no visible process explains: idle power, hidden processes, unknown shares. Empty when only "
         "some "
         "processes were asked for",
         FIELDS(not_attributed_answer));
    VIA(KEYS, NULL, rows, rows_answer, NULL);
    FIELD(MOMENT, "timestamp", at, NULL, OR_NULL);
}

void json_processes(struct json_writer *j, const struct snapshot *s, const struct process_rows *rows)
{
    struct told_processes told = {.s = s, .rows = rows, .at = s->taken_at};
    told.state = process_rows_answer(rows, s, told.answer);
    answer_write(j, &processes_answer, &told, NULL);
}

/* ---- the table ---- */

static const struct grid_column columns[] = {
    {"GPU", RIGHT, 0},  {"PID", RIGHT, 0},  {"USER", LEFT, 2},      {"TYPE", LEFT, 6},    {"VRAM", RIGHT, 0}, {"UTIL", RIGHT, 0},
    {"BW", RIGHT, 8},   {"ENC", RIGHT, 10}, {"DEC", RIGHT, 10},     {"WATTS", RIGHT, 3},  {"BY", LEFT, 11},   {"CPU", RIGHT, 4},
    {"RAM", RIGHT, 7},  {"AGE", RIGHT, 5},  {"CONTAINER", LEFT, 9}, {"JOB", LEFT, 8},     {"RANK", RIGHT, 9}, {"LEASE", LEFT, 7},
    {"LIMIT", LEFT, 7}, {"MODEL", LEFT, 9}, {"NAME", LEFT, 6},      {"COMMAND", LEFT, 0},
};

enum { COLUMN_GPU = 0, COLUMN_WATTS = 9, REMAINDER_SHOWN_MW = 500 };

static void number_cell(struct grid *g, const struct page *page, struct reading r,
                        void (*show)(char[NUMBER_SIZE], const struct page *, struct reading))
{
    char text[NUMBER_SIZE];
    show(text, page, r);
    grid_add(g, r.state != READING_OK || r.value == 0 ? INK_FAINT : INK_PLAIN, text);
}

static void words_cell(struct grid *g, const struct page *page, const char *text)
{
    grid_add(g, text[0] ? INK_PLAIN : INK_FAINT, text[0] ? text : page_dash(page));
}

static const char *what(const struct process *p)
{
    if (p->command[0])
        return p->command;
    if (p->name[0])
        return p->name;
    return p->visible ? "" : "(not visible in this PID namespace)";
}

/* "Qwen3-8B, 85 tok/s, 8 requests running, 2 waiting, KV cache 41%" */
static const char *model_words(char *text, size_t size, const struct process *p)
{
    double tokens = (double)p->tokens_milli.value / 1000;
    char requests[SERVING_WORDS];
    size_t len;
    if (p->tokens_milli.state == READING_OK)
        snprintf(text, size, tokens < 10 ? "%s%s%.1f tok/s" : "%s%s%.0f tok/s", p->model, p->model[0] ? ", " : "", tokens);
    else
        snprintf(text, size, "%s", p->model);
    len = strlen(text);
    if (show_requests(requests, p)[0])
        snprintf(text + len, size - len, "%s%s", len ? ", " : "", requests);
    return text;
}

static void add_row(struct grid *g, const struct page *page, const struct process_row *row)
{
    const struct process *p = row->process;
    char text[64];
    if (p->instance >= 0)
        snprintf(text, sizeof text, "%d:%d", row->gpu->index, p->instance);
    else
        snprintf(text, sizeof text, "%d", row->gpu->index);
    grid_add(g, INK_STRONG, text);
    snprintf(text, sizeof text, "%d", p->pid);
    grid_add(g, INK_PLAIN, text);
    words_cell(g, page, p->user);
    words_cell(g, page, process_type_word(p->type));
    number_cell(g, page, p->mem_bytes, show_bytes);
    number_cell(g, page, p->util_permille, show_percent);
    number_cell(g, page, process_bandwidth(row->gpu, p), show_percent);
    number_cell(g, page, p->encoder_permille, show_percent);
    number_cell(g, page, p->decoder_permille, show_percent);
    number_cell(g, page, p->power_mw, show_watts);
    words_cell(g, page, process_basis_word(p->power_basis));
    number_cell(g, page, p->cpu_permille, show_percent);
    number_cell(g, page, p->host_mem_bytes, show_bytes);
    show_age(text, page, p->started_at.ms ? MAX_OF(page->now.ms - p->started_at.ms, (int64_t)0) : -1);
    grid_add(g, INK_FAINT, text);
    char container[PROCESS_CONTAINER_NAME_SIZE];
    process_container_words(container, sizeof container, p);
    words_cell(g, page, container);
    char rank[RANK_WORDS];
    words_cell(g, page, p->job);
    words_cell(g, page, process_rank_words(p, rank));
    words_cell(g, page, p->lease);
    words_cell(g, page, process_doing(p));
    char model[PROCESS_MODEL_SIZE + SERVING_WORDS + 32];
    words_cell(g, page, model_words(model, sizeof model, p));
    words_cell(g, page, process_title(p));
    words_cell(g, page, what(p));
}

/* What no process explains, so that the column adds up to the GPU. */
static void add_remainder(struct grid *g, const struct page *page, const struct gpu *gpu)
{
    char text[NUMBER_SIZE];
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        if (i == COLUMN_GPU)
            snprintf(text, sizeof text, "%d", gpu->index);
        else if (i == COLUMN_WATTS)
            show_watts(text, page, gpu->not_attributed_mw);
        else
            snprintf(text, sizeof text, "%s", i + 1 == ARRAY_LEN(columns) ? "(not attributed)" : page_dash(page));
        grid_add(g, INK_FAINT, text);
    }
}

static size_t names_denied(const struct process_rows *rows)
{
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++)
        count += rows->rows[i].process->container_name_state == READING_DENIED;
    return count;
}

void table_ps(struct buf *out, const struct page *page, const struct snapshot *s, const struct process_rows *rows)
{
    char text[96], answer[PROCESS_ROWS_ANSWER];
    page_simulated_line(out, page, snapshot_simulated(s, rows->only));
    if (rows->count) {
        AUTO_GRID struct grid g;
        grid_init(&g, columns, ARRAY_LEN(columns));
        for (size_t i = 0; i < rows->count; i++)
            add_row(&g, page, &rows->rows[i]);
        for (size_t i = 0; i < s->gpu_count; i++)
            if (process_rows_remainder(rows, s, i) && s->gpus[i].not_attributed_mw.value >= REMAINDER_SHOWN_MW)
                add_remainder(&g, page, &s->gpus[i]);
        grid_write(out, page, &g);
    }
    process_rows_answer(rows, s, answer);
    if (answer[0])
        page_wrap(out, page, rows->unknown ? INK_WARN : INK_PLAIN, answer, 0, 0);
    if (names_denied(rows))
        page_wrap(out, page, INK_FAINT, "Containers are shown by ID where only root may read their names.", 0, 0);
    if (rows->hidden) {
        snprintf(text, sizeof text, "%zu more are not visible without privileges.", rows->hidden);
        page_wrap(out, page, INK_WARN, text, 0, 0);
    }
}
