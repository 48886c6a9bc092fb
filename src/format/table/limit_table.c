/* SPDX-License-Identifier: Apache-2.0
 * `whirr why PID`: the limit of a process, for people.
 *
 *   train.py (pid 4242, alice) on GPU 0 computes in Python while the GPU waits.
 *     Limit    the host's CPU, 100% of the last 10s (very likely)
 *     Evidence the GPU was busy 19% of the time, its multiprocessors 18%
 *     Do       Let loader processes prepare the data: DataLoader(num_workers=8, pin_memory=True)
 */
#include <stdio.h>

#include "base/words.h"
#include "format/json/json.h"
#include "format/table/table.h"
#include "insight/area/limit.h"

enum { LABEL_WIDTH = 12 };

static void labelled(struct buf *out, const struct page *page, const char *label, enum ink ink, const char *text)
{
    buf_text(out, "  ");
    page_cell(out, page, INK_FAINT, LEFT, label, LABEL_WIDTH - 2);
    page_wrap(out, page, ink, text, LABEL_WIDTH, LABEL_WIDTH);
}

static void limit_line(struct buf *out, const struct page *page, const struct process_limit *l)
{
    char text[WHY_TEXT_SIZE] = "", share[WORDS_SIZE], over[WORDS_SIZE];
    struct text s = TEXT(text);
    text_append(&s, "%s", limit_words(l->code));
    if (l->over_ms)
        text_append(&s, ", %s of the last %s", words_percent(l->share_permille, share), words_duration(l->over_ms, over));
    text_append(&s, " (%s)", likelihood_words(l->confidence));
    if (l->second)
        text_append(&s, "; %s %s", limit_words(l->second), words_percent(l->second_permille, share));
    labelled(out, page, "Limit", INK_PLAIN, text);
}

void table_late_rank(struct buf *out, const struct page *page, const struct snapshot *s, const struct process *p,
                     const struct program_lines *l)
{
    char place[PLACE_WORDS], late[PLACE_WORDS + WORDS_SIZE] = "";
    if (l->count && l->places[0].file && l->places[0].function)
        process_late_words(p, snapshot_waiting_ranks(s, p), place_brief(&l->places[0], place), late, sizeof late);
    if (late[0])
        labelled(out, page, "Rank", INK_PLAIN, late);
}

void table_lines(struct buf *out, const struct page *page, const struct process *p, const struct program_lines *l)
{
    char words[PLACE_WORDS], who[PROCESS_WORDS], rank[RANK_WORDS], text[PLACE_WORDS + PROCESS_WORDS + RANK_WORDS];
    struct text first = TEXT(text);
    if (l->blame == BLAME_GPU)
        labelled(out, page, "Where", INK_PLAIN, "no line of its own: it waits for the GPU");
    if (l->few_cores)
        labelled(out, page, "Cores", INK_PLAIN, "there are too few: the threads below waited longer for a CPU than they ran");
    text[0] = '\0';
    if (p && process_rank_words(p, rank)[0])
        text_append(&first, "rank %s, ", rank);
    if (p)
        text_append(&first, "%s: ", process_words(p, WITH_PID, who));
    for (size_t i = 0; i < l->count; i++) {
        place_words(&l->places[i], i == 0, words);
        if (i == 0)
            text_append(&first, "%s", words);
        labelled(out, page, i == 0 ? "Where" : "", INK_PLAIN, i == 0 ? text : words);
    }
    labelled(out, page, "", INK_FAINT, lines_evidence(l, words));
}

static void explain_row(struct buf *out, const struct page *page, const struct snapshot *s, const struct process_row *row,
                        const struct limits_told *told)
{
    char lines[WHY_EVIDENCE_MAX][WHY_LINE_SIZE], advice[LIMIT_ADVICE_MAX][WHY_LINE_SIZE], text[WHY_TEXT_SIZE] = "";
    char who[PROCESS_WORDS];
    const struct process *p = row->process;
    struct text says = TEXT(text);
    text_append(&says, "%s on GPU %d ", process_words(p, EXACT_NAME, who), row->gpu->index);
    if (!p->limit.code) {
        text_append(&says, "can't be judged.");
        page_wrap(out, page, INK_STRONG, text, 0, 0);
        return;
    }
    limit_say(&says, row->gpu, p);
    text_stop(&says);
    page_wrap(out, page, INK_STRONG, text, 0, 0);
    limit_line(out, page, &p->limit);
    if (told->lines) {
        table_late_rank(out, page, s, p, told->lines);
        table_lines(out, page, NULL, told->lines);
    }
    size_t count = limit_evidence(row->gpu, p, lines);
    for (size_t i = 0; i < count; i++)
        labelled(out, page, i == 0 ? "Evidence" : "", INK_FAINT, lines[i]);
    if (told->cpu_time[0])
        labelled(out, page, count ? "" : "Evidence", INK_FAINT, told->cpu_time);
    if (told->missing[0] && !told->lines) {
        snprintf(text, sizeof text, "its lines can't be read: %s", told->missing);
        labelled(out, page, "Where", INK_FAINT, text);
    }
    if (p->limit.code == LIMIT_CANNOT_TELL && limit_missing(row->gpu, p))
        labelled(out, page, "Missing", INK_FAINT, limit_missing(row->gpu, p));
    count = limit_advice(s, row->gpu, p, advice);
    for (size_t i = 0; i < count; i++)
        labelled(out, page, i == 0 ? "Do" : "", INK_PLAIN, advice[i]);
}

void table_limits(struct buf *out, const struct page *page, const struct snapshot *s, const struct process_rows *rows,
                  const struct limits_told *told)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (i)
            buf_char(out, '\n');
        else
            page_simulated_line(out, page, rows->rows[0].gpu->simulated);
        explain_row(out, page, s, &rows->rows[i], i ? &(struct limits_told){"", NULL, ""} : told);
    }
}
