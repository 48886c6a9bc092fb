/* SPDX-License-Identifier: Apache-2.0
 * The process table; and what all tables share: as many columns as fit, and titles that show the sort order.
 */
#include "tui/draw.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/process_rows.h"
#include "insight/facts/levels.h"
#include "tui/setup.h"

/* ---- columns of any table ---- */

unsigned draw_columns_that_fit(const struct top_column_info *columns, int count, unsigned chosen, int width)
{
    for (int rank = 20; rank > 0; rank--) {
        int needed = 1;
        for (int i = 0; i < count; i++)
            needed += chosen & 1U << i && columns[i].width ? columns[i].width + 1 : 0;
        if (needed <= width)
            break;
        for (int i = 0; i < count; i++)
            if (columns[i].rank >= rank)
                chosen &= ~(1U << i);
    }
    return chosen;
}

void draw_column_titles(struct top *t, struct canvas *c, const struct column_titles *h, int y)
{
    int x = 1;
    for (int k = 0; k < h->count; k++) {
        int i = h->order ? setup_item_at(h->order, SETUP_PROCESSES, k) : k;
        const struct top_column_info *info = &h->columns[i];
        if (!(h->shown & 1U << i))
            continue;
        int width = info->width ? info->width : c->width - x - 1;
        bool sorted = h->sort && info->sort && strcmp(h->sort, info->sort) == 0;
        char title[32];
        int name = (int)(sorted && info->width == width_of(info->title) ? strcspn(info->title, " ") : strlen(info->title));
        snprintf(title, sizeof title, "%.*s%s", name, info->title,
                 !sorted      ? ""
                 : h->reverse ? (t->utf8 ? "▲" : "^")
                 : t->utf8    ? "▼"
                              : "v");
        (info->right ? canvas_right : canvas_text)(c, x, y, width, sorted ? TINT_LABEL : TINT_DIM, title);
        if (info->sort && !t->fleet)
            top_zone(t, ZONE_SORT, x, y, width, 1, i);
        x += width + 1;
    }
}

void draw_filter_words(const struct top *t, struct canvas *c, int y)
{
    char words[sizeof t->filter + 64] = "";
    if (t->filter[0])
        snprintf(words, sizeof words, "filter: %s", t->filter);
    if (t->settings.compute_only && !t->fleet)
        snprintf(words + strlen(words), sizeof words - strlen(words), "%scompute only", words[0] ? ", " : "");
    if (t->settings.hide_idle && !t->fleet)
        snprintf(words + strlen(words), sizeof words - strlen(words), "%sidle ones hidden", words[0] ? ", " : "");
    if (words[0] && c->width >= 60)
        canvas_right(c, c->width / 2, y, c->width - c->width / 2 - 1, TINT_WARN, words);
}

void draw_scroll(struct top *t, size_t room)
{
    t->page = room;
    if (t->selected < t->first)
        t->first = t->selected;
    if (room && t->selected >= t->first + room)
        t->first = t->selected - room + 1;
    if (t->first && t->first + room > t->row_count)
        t->first = t->row_count > room ? t->row_count - room : 0;
}

/* ---- processes ---- */

enum { COMMAND_MIN = 16, COMMAND_MIN_WIDE = 30, WIDE_FROM = 110, LIMIT_BRIEF = 15, IDLE_SHOWN_MS = 60000 };

static bool has_idle_process(const struct top *t)
{
    for (size_t i = 0; i < t->row_count; i++)
        if (t->rows[i].process && top_idle_ms(t, t->rows[i].gpu, t->rows[i].process) >= IDLE_SHOWN_MS)
            return true;
    return false;
}

/* Whether a column has content in this row; columns without any are omitted. */
static bool is_filled(const struct process *p, const struct gpu *gpu, enum top_column column)
{
    switch (column) {
    case COL_LIMIT: return p->limit.code != LIMIT_UNJUDGED;
    case COL_JOB: return p->job[0];
    case COL_TYPE: return p->type != PROCESS_COMPUTE;
    case COL_CONTAINER: return p->container_name[0] || p->container[0];
    case COL_TOKENS: return p->tokens_milli.state == READING_OK;
    case COL_WORK: return process_work(gpu, p).state == READING_OK;
    case COL_SM: return p->util_permille.state == READING_OK;
    case COL_MEM: return process_bandwidth(gpu, p).state == READING_OK;
    case COL_ENC: return p->encoder_permille.state == READING_OK;
    case COL_DEC: return p->decoder_permille.state == READING_OK;
    case COL_WATTS: return p->power_mw.state == READING_OK;
    case COL_CPU: return p->cpu_permille.state == READING_OK;
    case COL_RAM: return p->host_mem_bytes.state == READING_OK;
    default: return true;
    }
}

static bool any_filled(const struct top *t, enum top_column column)
{
    for (size_t i = 0; i < t->row_count; i++)
        if (t->rows[i].process && is_filled(t->rows[i].process, t->rows[i].gpu, column))
            return true;
    return false;
}

/* The columns of this frame. */
struct process_table {
    struct top_column_info columns[COL_COUNT];
    unsigned shown;
};

/* A wide screen shows limits uncut. */
static int limit_width(const struct top *t)
{
    int width = top_columns[COL_LIMIT].width;
    for (size_t i = 0; i < t->row_count; i++)
        if (t->rows[i].process && t->rows[i].process->limit.code != LIMIT_UNJUDGED)
            width = MAX_OF(width, width_of(limit_doing(t->rows[i].process->limit.code)));
    return width;
}

/* Chooses the columns that fit. */
static struct process_table choose_columns(const struct top *t, int width)
{
    struct process_table table;
    memcpy(table.columns, top_columns, sizeof table.columns);
    if (width >= WIDE_FROM)
        table.columns[COL_LIMIT].width = limit_width(t);
    else
        table.columns[COL_LIMIT].width = LIMIT_BRIEF;
    unsigned chosen = (t->settings.columns | 1U << COL_COMMAND) & ((1U << COL_COUNT) - 1);
    if (!has_idle_process(t))
        chosen &= ~(1U << COL_IDLE);
    /* Others may only be unknown in the first sample; of the past they stay so. */
    static const unsigned rare =
        1U << COL_LIMIT | 1U << COL_JOB | 1U << COL_TOKENS | 1U << COL_WORK | 1U << COL_TYPE | 1U << COL_CONTAINER;
    for (enum top_column i = 0; i < COL_COUNT; i++)
        if ((rare & 1U << i || (t->cursor_ms && t->row_count)) && !any_filled(t, i))
            chosen &= ~(1U << i);
    table.shown =
        draw_columns_that_fit(table.columns, COL_COUNT, chosen, width - (width < WIDE_FROM ? COMMAND_MIN : COMMAND_MIN_WIDE));
    return table;
}

/* The command without the program's directory, which would take room from the arguments. */
static const char *command_of(const struct process *p)
{
    const char *command = p->command[0] ? p->command
                          : p->name[0]  ? p->name
                          : p->visible  ? ""
                                        : "(not visible in this PID namespace)";
    size_t program = strcspn(command, " ");
    for (size_t i = program; command[0] == '/' && i > 0; i--)
        if (command[i - 1] == '/')
            return command + i;
    return command;
}

/* The short name, then the command line if it does not begin with that. */
static void name_text(char *text, size_t size, const struct process *p)
{
    char words[PROCESS_WORDS];
    const char *command = command_of(p);
    process_words(p, SHORT_NAME, words);
    if (strncmp(command, words, strlen(words)) == 0 || !process_title(p)[0])
        str_copy(text, size, str_from(command));
    else
        snprintf(text, size, "%s  %s", words, command);
}

/* "4711 3/8" */
static void job_text(char *text, size_t size, const struct process *p)
{
    char rank[RANK_WORDS];
    process_rank_words(p, rank);
    snprintf(text, size, "%s%s%s", p->job, p->job[0] && rank[0] ? " " : "", rank);
}

/* The heading has the unit. */
static void memory_text(char text[NUMBER_SIZE], const struct page *page, struct reading bytes)
{
    double gib = (double)bytes.value / (1 << 30);
    if (bytes.state != READING_OK)
        snprintf(text, NUMBER_SIZE, "%s", page_dash(page));
    else
        snprintf(text, NUMBER_SIZE, gib > 0 && gib < 0.05 ? "<0.1" : gib < 1000 ? "%.1f" : "%.0f", gib);
}

static void watts_text(char text[NUMBER_SIZE], const struct page *page, struct reading mw)
{
    if (mw.state != READING_OK)
        snprintf(text, NUMBER_SIZE, "%s", page_dash(page));
    else
        snprintf(text, NUMBER_SIZE, mw.value > 0 && mw.value < 500 ? "<1" : "%.0f", (double)mw.value / 1000);
}

static void number_text(char text[NUMBER_SIZE], const struct page *page, const struct process *p, enum top_column column)
{
    switch (column) {
    case COL_VRAM: memory_text(text, page, p->mem_bytes); break;
    case COL_SM: show_percent(text, page, p->util_permille); break;
    case COL_ENC: show_percent(text, page, p->encoder_permille); break;
    case COL_DEC: show_percent(text, page, p->decoder_permille); break;
    case COL_WATTS: watts_text(text, page, p->power_mw); break;
    case COL_CPU: show_percent(text, page, p->cpu_permille); break;
    case COL_RAM: memory_text(text, page, p->host_mem_bytes); break;
    case COL_TOKENS:
        if (p->tokens_milli.state == READING_OK)
            snprintf(text, NUMBER_SIZE, "%.0f", (double)p->tokens_milli.value / 1000);
        else
            snprintf(text, NUMBER_SIZE, "%s", page_dash(page));
        break;
    default: text[0] = '\0'; break;
    }
}

static void cell_text(const struct top *t, const struct top_row *row, enum top_column column, char *text, size_t size)
{
    struct page page = draw_page(t);
    char number[NUMBER_SIZE];
    const struct process *p = row->process ? row->process : &row->sum;
    text[0] = '\0';
    switch (column) {
    case COL_GPU:
        if (p->instance > 0 || (row->process && p->instance == 0 && row->gpu->instance_count))
            snprintf(text, size, "%d:%d", row->gpu->index, p->instance);
        else if (row->process)
            snprintf(text, size, "%d", row->gpu->index);
        break;
    case COL_PID:
        if (row->process)
            snprintf(text, size, "%d", p->pid);
        break;
    case COL_USER: str_copy(text, size, str_from(p->user)); break;
    case COL_TYPE: str_copy(text, size, str_from(row->process ? process_type_word(p->type) : "")); break;
    case COL_AGE:
        if (row->process) {
            show_age(number, &page, p->started_at.ms ? MAX_OF(page.now.ms - p->started_at.ms, (int64_t)0) : -1);
            str_copy(text, size, str_from(number));
        }
        break;
    case COL_IDLE:
        if (row->process && top_idle_ms(t, row->gpu, p) >= IDLE_SHOWN_MS) {
            show_age(number, &page, top_idle_ms(t, row->gpu, p));
            str_copy(text, size, str_from(number));
        }
        break;
    case COL_CONTAINER: process_container_words(text, size, p); break;
    case COL_LIMIT:
        if (row->process && p->limit.code == LIMIT_STRAGGLER_WAIT && draw_straggler(t, p) >= 0)
            snprintf(text, size, "waits for GPU %d", draw_straggler(t, p));
        else if (row->process)
            str_copy(text, size, str_from(process_doing(p)));
        break;
    case COL_JOB: job_text(text, size, p); break;
    case COL_BY: str_copy(text, size, str_from(process_basis_word(p->power_basis))); break;
    case COL_NAME: str_copy(text, size, str_from(process_title(p))); break;
    case COL_MODEL: str_copy(text, size, str_from(p->model)); break;
    case COL_COMMAND: name_text(text, size, p); break;
    case COL_WORK:
    case COL_MEM:
        if (row->process) {
            show_percent(number, &page, column == COL_MEM ? process_bandwidth(row->gpu, p) : process_work(row->gpu, p));
            str_copy(text, size, str_from(number));
        }
        break;
    default:
        number_text(number, &page, p, column);
        str_copy(text, size, str_from(number));
        break;
    }
}

static void draw_heading(struct top *t, struct canvas *c, const struct process_table *table, size_t room, int y)
{
    const struct column_titles titles = {table->columns,   COL_COUNT,           table->shown,
                                         t->settings.sort, t->settings.reverse, &t->settings};
    draw_column_titles(t, c, &titles, y);
    char words[96] = "";
    if (room && t->row_count > room)
        snprintf(words, sizeof words, "%zu-%zu of %zu", t->first + 1, MIN_OF(t->first + room, t->row_count), t->row_count);
    int left = c->width - 1, title = width_of(top_columns[COL_COMMAND].title) + 2; /* with the mark of the sort order */
    for (int i = 0; i < COL_COMMAND; i++)
        left -= table->shown & 1U << i ? table->columns[i].width + 1 : 0;
    if (words[0] && title + width_of(words) > left) /* keep the column's title */
        snprintf(words, sizeof words, "+%zu", t->row_count - room);
    if (words[0])
        canvas_right(c, c->width / 2, y, c->width - c->width / 2 - 1, TINT_DIM, words);
    draw_filter_words(t, c, y);
}

static void draw_group(struct canvas *c, const struct top *t, const struct top_row *row, const struct process_table *table, int y)
{
    char text[PROCESS_MODEL_SIZE + 64], number[NUMBER_SIZE];
    struct page page = draw_page(t);
    int x = 1;
    for (int k = 0; k < COL_COUNT; k++) {
        int i = setup_item_at(&t->settings, SETUP_PROCESSES, k);
        if (!(table->shown & 1U << i))
            continue;
        int width = table->columns[i].width ? table->columns[i].width : c->width - x - 1;
        if (i == COL_COMMAND) {
            snprintf(text, sizeof text, "%s: %zu process%s", row->name, row->members, row->members == 1 ? "" : "es");
            canvas_text(c, x, y, width, TINT_LABEL, text);
        } else if (i == COL_PID && row->pid) {
            snprintf(text, sizeof text, "%d", row->pid);
            canvas_right(c, x, y, width, TINT_DIM, text);
        } else {
            number_text(number, &page, &row->sum, (enum top_column)i);
            canvas_right(c, x, y, width, TINT_STRONG, number);
        }
        x += width + 1;
    }
    canvas_flag(c, 0, y, c->width, CELL_BOLD);
}

/* The lines that connect a process to its parent; returns their width. */
static int draw_branch(struct canvas *c, const struct top_row *row, int x, int y)
{
    int used = 0;
    for (int depth = 1; depth <= row->depth; depth++) {
        bool continues = row->open & 1U << depth, own = depth == row->depth;
        const char *line = c->utf8     ? (own         ? (continues ? "├─" : "└─")
                                          : continues ? "│ "
                                                      : "  ")
                           : own       ? (continues ? "|-" : "`-")
                           : continues ? "| "
                                       : "  ";
        canvas_text(c, x + used, y, 2, TINT_DIM, line);
        used += 3;
    }
    return used;
}

static void draw_row(struct top *t, struct canvas *c, const struct top_row *row, const struct process_table *table, int y)
{
    /* The judge recognizes idle holders at once; for how long is known only later, or from the history. */
    bool idle = row->process->activity == PROCESS_HOLDING || top_idle_ms(t, row->gpu, row->process) >= IDLE_SHOWN_MS;
    int x = 1;
    for (int k = 0; k < COL_COUNT; k++) {
        int i = setup_item_at(&t->settings, SETUP_PROCESSES, k);
        const struct top_column_info *info = &table->columns[i];
        char text[PROCESS_COMMAND_SIZE];
        if (!(table->shown & 1U << i))
            continue;
        int width = info->width ? info->width : c->width - x - 1;
        cell_text(t, row, (enum top_column)i, text, sizeof text);
        if (i == COL_LIMIT)
            gpu_shorten_limit(text, sizeof text, row->process, width);
        bool secondary = idle || i == COL_AGE || i == COL_CONTAINER || i == COL_TYPE || i == COL_BY;
        if (i == COL_COMMAND) {
            int branch = draw_branch(c, row, x, y);
            x += branch;
            width -= branch;
        }
        (info->right ? canvas_right : canvas_text)(c, x, y, width,
                                                   i == COL_IDLE ? TINT_WARN
                                                   : secondary   ? TINT_DIM
                                                                 : TINT_PLAIN,
                                                   text);
        x += width + 1;
    }
    if (top_tagged(t, row->process->pid))
        canvas_text(c, 0, y, 1, TINT_WARN, "●");
}

static void draw_nothing(const struct top *t, struct canvas *c, int y)
{
    const struct snapshot *s = top_shown(t);
    char answer[PROCESS_ROWS_ANSWER] = "";
    if (s)
        process_rows_answer(&(struct process_rows){.only = t->only, .whole = true}, s, answer);
    const char *text = t->filter[0]         ? "No process matches the filter."
                       : t->past            ? "No processes on the GPUs."
                       : !s || s->gpu_count ? answer
                                            : "`whirr doctor` says where whirr looked.";
    canvas_text(c, 1, y, c->width - 2, TINT_DIM, text);
}

void draw_processes(struct top *t, struct canvas *c, int y, int height)
{
    if (height < 1)
        return;
    struct process_table table = choose_columns(t, c->width);
    size_t room = (size_t)MAX_OF(height - 1, 0);
    draw_scroll(t, room);
    draw_heading(t, c, &table, room, y++);
    if (!t->row_count && room)
        draw_nothing(t, c, y);
    for (size_t i = 0; i < room && t->first + i < t->row_count; i++) {
        size_t at = t->first + i;
        const struct top_row *row = &t->rows[at];
        int line = y + (int)i;
        if (row->process)
            draw_row(t, c, row, &table, line);
        else
            draw_group(c, t, row, &table, line);
        top_zone(t, ZONE_ROW, 0, line, c->width, 1, (int64_t)at);
        if (at == t->selected)
            canvas_select(c, 0, line, c->width);
    }
}
