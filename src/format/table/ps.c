/* SPDX-License-Identifier: Apache-2.0
 * Processes as a table: one row per (process, GPU).
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/table/grid.h"
#include "format/table/table.h"
#include "insight/facts/levels.h"

static const struct grid_column columns[] = {
    {"GPU", RIGHT, 0},  {"PID", RIGHT, 0},  {"USER", LEFT, 2},      {"TYPE", LEFT, 6},    {"VRAM", RIGHT, 0}, {"UTIL", RIGHT, 0},
    {"BW", RIGHT, 8},   {"ENC", RIGHT, 10}, {"DEC", RIGHT, 10},     {"WATTS", RIGHT, 3},  {"BY", LEFT, 11},   {"CPU", RIGHT, 4},
    {"RAM", RIGHT, 7},  {"AGE", RIGHT, 5},  {"CONTAINER", LEFT, 9}, {"JOB", LEFT, 8},     {"RANK", RIGHT, 9}, {"LEASE", LEFT, 7},
    {"LIMIT", LEFT, 7}, {"MODEL", LEFT, 9}, {"NAME", LEFT, 6},      {"COMMAND", LEFT, 0},
};

enum { COLUMN_GPU = 0, COLUMN_WATTS = 9, REMAINDER_SHOWN_MW = 500 };

static void ps_add_number(struct grid *g, const struct page *page, struct reading r,
                          void (*show)(char[NUMBER_SIZE], const struct page *, struct reading))
{
    char text[NUMBER_SIZE];
    show(text, page, r);
    grid_add(g, r.state != READING_OK || r.value == 0 ? INK_FAINT : INK_PLAIN, text);
}

static void add_words(struct grid *g, const struct page *page, const char *text)
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

static void ps_add_row(struct grid *g, const struct page *page, const struct process_row *row)
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
    add_words(g, page, p->user);
    add_words(g, page, process_type_word(p->type));
    ps_add_number(g, page, p->mem_bytes, show_bytes);
    ps_add_number(g, page, p->util_permille, show_percent);
    ps_add_number(g, page, process_bandwidth(row->gpu, p), show_percent);
    ps_add_number(g, page, p->encoder_permille, show_percent);
    ps_add_number(g, page, p->decoder_permille, show_percent);
    ps_add_number(g, page, p->power_mw, show_watts);
    add_words(g, page, process_basis_word(p->power_basis));
    ps_add_number(g, page, p->cpu_permille, show_percent);
    ps_add_number(g, page, p->host_mem_bytes, show_bytes);
    show_age(text, page, p->started_at.ms ? MAX_OF(page->now.ms - p->started_at.ms, (int64_t)0) : -1);
    grid_add(g, INK_FAINT, text);
    char container[PROCESS_CONTAINER_NAME_SIZE];
    process_container_words(container, sizeof container, p);
    add_words(g, page, container);
    char rank[RANK_WORDS];
    add_words(g, page, p->job);
    add_words(g, page, process_rank_words(p, rank));
    add_words(g, page, p->lease);
    add_words(g, page, process_doing(p));
    char model[PROCESS_MODEL_SIZE + SERVING_WORDS + 32];
    add_words(g, page, model_words(model, sizeof model, p));
    add_words(g, page, process_title(p));
    add_words(g, page, what(p));
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
            ps_add_row(&g, page, &rows->rows[i]);
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
