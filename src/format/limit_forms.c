/* SPDX-License-Identifier: Apache-2.0
 * What limits processes: `whirr why PID` as JSON and for people, with the lines on which a program spends its time, and the
 * functions in which it spends its CPU time.
 *
 *   train.py (pid 4242, alice) on GPU 0 computes in Python while the GPU waits.
 *     Limit    the host's CPU, 100% of the last 10s (very likely)
 *     Evidence the GPU was busy 19% of the time, its multiprocessors 18%
 *     Do       Let loader processes prepare the data: DataLoader(num_workers=8, pin_memory=True)
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "format/json/json.h"
#include "format/json/told.h"
#include "format/process_rows.h"
#include "format/table/table.h"
#include "insight/area/limit.h"

/* ---- what a program does on the host ---- */

ANSWER_TABLE(evidence_answer, struct host_evidence)
{
    for (size_t i = 0; i < EVIDENCE_COUNT; i++)
        FIELD(READING, evidence_table[i].json_key, metric[i], evidence_table[i].help, SCALE(evidence_table[i].json_scale));
}

ANSWER_TABLE(host_answer, struct host_evidence, .name = "HostEvidence", .about = "What a program on a GPU was doing on its host")
{
    FIELD(INT, "looks", looks, "Looks at its threads: 100% of the shares");
    FIELD(AMOUNT, "over_seconds", over_ms, "From the first to the last look; 0: a single one", SCALE(1e-3));
    KEYS(evidence_answer);
    FIELD(TEXT, "busiest_thread", busiest_thread, NULL, OR_NULL);
    FIELD(TEXT, "busiest_child", busiest_child, NULL, OR_NULL);
    FIELD(TEXT, "compiler", compiler, "A child that compiles GPU code", OR_NULL);
    FIELD(TEXT, "mount", mount, "The network file system that it waits for", OR_NULL);
    FIELD(TEXT, "code", code, "The file, other than Python's, with the most CPU time", OR_NULL);
    FIELD(TEXT, "peer", peer, "Whom it waits for", OR_NULL);
    FIELD(TEXT, "collective", collective, "What the traces of its job say about the newest collective", OR_NULL, FOREIGN);
}

static enum reading_state evidence_state(const void *record)
{
    const struct process *p = record;
    return p->host ? p->host->state : READING_UNREAD;
}

ANSWER_TABLE(process_host_answer, struct process)
{
    VIA(OBJECT, "host", host, host_answer, NULL, .state = evidence_state);
}

/* ---- lines ---- */

ANSWER_NAMES(doings, enum doing, doing_name, 0, DOING_COUNT - 1);
ANSWER_NAMES(blames, enum blame, blame_name, BLAME_MAIN, BLAME_GPU);

ANSWER_MAKER(make_share, struct place, number, (of->permille + 5) / 10);

static bool make_place_words(const struct answer_at *at, union answer_value *ret)
{
    _Static_assert(sizeof ret->text >= PLACE_WORDS, "room");
    place_words(at->record, true, ret->text);
    return true;
}

ANSWER_TABLE(place_answer, struct place, .name = "Place")
{
    FIELD(WORD, "file", file, NULL, OR_NULL);
    FIELD(INT, "line", line, "The commonest", OR_NULL);
    FIELD(INT, "first_line", first, "Where no line has nearly all of it, the range", OR_NULL);
    FIELD(INT, "last_line", last, NULL, OR_NULL);
    FIELD(WORD, "function", function, NULL, OR_NULL);
    MADE(INT, "share_percent", make_share, "Of the time of the threads that are to blame");
    FIELD(WORD, "thread", thread, NULL, OR_NULL);
    FIELD(NAME, "state", doing, NULL, NAMES(doings));
    FIELD(WORD, "mostly_in", leaf, "Where most of it is below, in a library", OR_NULL);
    FIELD(WORD, "called_from_file", caller_file, NULL, OR_NULL);
    FIELD(INT, "called_from_line", caller_line, NULL, PRESENT(caller_file));
    FIELD(INT, "processes", processes, "Of children: in how many of them", PRESENT(of_processes));
    FIELD(INT, "of_processes", of_processes, NULL, OR_NULL);
    MADE(TEXT, "text", make_place_words, NULL);
}

static enum reading_state lines_state(const void *record)
{
    const struct told_lines *told = record;
    return told->places ? READING_OK : told->missing[0] ? READING_FAILED : READING_UNREAD;
}

SHARED_ANSWER_TABLE(lines_answer, struct told_lines)
{
    OBJECTS("lines", places, count, place_answer,
            "In which lines of its code it spends its time, the answer first. Empty in `/api/why`; `/api/why/lines` and `whirr "
            "why NAME` look",
            .state = lines_state, STAYS, COUNTS, FOREIGN);
    FIELD(WORD, "lines_of", of, "Whose lines these are", NAMES(blames), OR_NULL);
    FIELD(BOOL, "too_few_cores", few_cores, NULL);
    FIELD(INT, "looks", looks, NULL, NONE(-1));
    FIELD(WORD, "lines_missing", missing, "Why no line is known", OR_NULL, COUNTS, FOREIGN);
}

struct told_lines told_lines(const struct program_lines *l, const char *missing)
{
    if (!l)
        return (struct told_lines){.missing = missing, .looks = -1};
    return (struct told_lines){l->places, l->count, blame_name(l->blame), missing, l->few_cores, l->looks};
}

/* ---- processes ---- */

struct told_limit {
    const struct process_row *row;
    const struct process *process;
    const char *likelihood, *missing, *cpu_time;
    char answer[WHY_TEXT_SIZE], evidence[WHY_EVIDENCE_MAX][WHY_LINE_SIZE], advice[LIMIT_ADVICE_MAX][WHY_LINE_SIZE];
    size_t evidence_count, advice_count;
    struct told_lines lines;
};

struct told_limits {
    const struct snapshot *s;
    const struct process_rows *rows;
    const struct limits_told *told; /* about the first */
    struct wall at;
    struct told_limit one; /* the one being written */
};

static const void *next_limit(const struct answer_at *at, struct answer_step *step)
{
    struct told_limits *all = at->context;
    struct told_limit *t = &all->one;
    if (step->at == all->rows->count)
        return NULL;
    bool first = step->at == 0;
    const struct process_row *row = &all->rows->rows[step->at++];
    const struct process *p = row->process;
    bool judged = p->limit.code != LIMIT_UNJUDGED;
    *t = (struct told_limit){.row = row,
                             .process = p,
                             .likelihood = judged ? likelihood_words(p->limit.confidence) : NULL,
                             .missing = p->limit.code == LIMIT_CANNOT_TELL ? limit_missing(row->gpu, p) : NULL,
                             .cpu_time = first ? all->told->cpu_time : NULL,
                             .lines = told_lines(first ? all->told->lines : NULL, first ? all->told->missing : "")};
    struct text says = TEXT(t->answer);
    if (judged) {
        limit_say(&says, row->gpu, p);
        t->evidence_count = limit_evidence(row->gpu, p, t->evidence);
    }
    t->advice_count = limit_advice(all->s, row->gpu, p, t->advice);
    return t;
}

ANSWER_TABLE(told_limit_answer, struct told_limit, .name = "WhyProcess")
{
    VIA(KEYS, NULL, row, process_row_answer, NULL);
    FIELD(TEXT, "answer", answer, "What limits it, in a sentence", OR_NULL, COUNTS, FOREIGN);
    FIELD(WORD, "likelihood", likelihood, NULL, OR_NULL, COUNTS);
    TEXTS(TEXT, "evidence", evidence, evidence_count, NULL, COUNTS, FOREIGN);
    FIELD(WORD, "missing", missing, "What could not be looked at, where nothing can be said", OR_NULL, COUNTS);
    TEXTS(TEXT, "suggestions", advice, advice_count, NULL, COUNTS);
    FIELD(WORD, "cpu_time", cpu_time, "Where it spends its CPU time, in words", OR_NULL);
    FIELD(KEYS, NULL, lines, NULL, FIELDS(lines_answer));
    VIA(KEYS, NULL, process, process_host_answer, NULL);
}

SHARED_ANSWER_TABLE(limits_answer, struct told_limits, .name = "WhyProcesses",
                    .about = "What limits the processes that were asked about")
{
    FIELD(MOMENT, "timestamp", at, NULL, OR_NULL, COUNTS);
    EACH(OBJECT, "processes", next_limit, NULL, FIELDS(told_limit_answer));
}

void json_limits(struct json_writer *j, const struct snapshot *s, const struct process_rows *rows, const struct limits_told *told)
{
    struct told_limits all = {.s = s, .rows = rows, .told = told, .at = s->taken_at};
    answer_write(j, &limits_answer, &all, &all);
}

/* ---- where a process spends its CPU time ---- */

ANSWER_TABLE(object_answer, struct address_object)
{
    FIELD(TEXT, "name", name, NULL, FOREIGN);
    FIELD(AMOUNT, "percent", permille, NULL, SCALE(0.1));
}

ANSWER_TABLE(function_answer, struct address_function)
{
    FIELD(TEXT, "name", name, NULL, FOREIGN);
    FIELD(TEXT, "object", object, NULL, FOREIGN);
    FIELD(AMOUNT, "percent", permille, NULL, SCALE(0.1));
}

static const void *next_object(const struct answer_at *at, struct answer_step *step)
{
    const struct address_samples *s = at->record;
    return step->at < ADDRESS_OBJECTS && s->objects[step->at].permille ? &s->objects[step->at++] : NULL;
}

static const void *next_function(const struct answer_at *at, struct answer_step *step)
{
    const struct address_samples *s = at->record;
    return step->at < ADDRESS_OBJECTS && s->functions[step->at].permille ? &s->functions[step->at++] : NULL;
}

ANSWER_TABLE(share_answer, struct address_samples)
{
    for (size_t i = 0; i < ADDRESS_GROUPS; i++)
        FIELD(AMOUNT, address_group_name((enum address_group)i), permille[i], NULL, SCALE(0.1));
}

static bool make_words(const struct answer_at *at, union answer_value *ret)
{
    _Static_assert(sizeof ret->text >= ADDRESS_WORDS, "room");
    const char *words = address_samples_words(at->record, ret->text);
    if (words != ret->text)
        str_copy(ret->text, sizeof ret->text, str_from(words));
    return true;
}

ANSWER_MAKER(make_state, struct address_samples, word, reading_state_name(of->state));

ANSWER_TABLE(samples_answer, struct address_samples)
{
    MADE(WORD, "state", make_state, "ok, or why there is no result");
    MADE(TEXT, "words", make_words, "The answer in words, or what would permit it");
    FIELD(AMOUNT, "over_seconds", over_ms, NULL, SCALE(1e-3));
    FIELD(INT, "samples", samples, NULL);
    FIELD(INT, "threads", threads, NULL);
    FIELD(AMOUNT, "cpu_percent", cpu_permille, "Of one core, over all threads that were sampled", SCALE(0.1));
    PART("share_percent", share_answer, "Of the CPU time");
    EACH(OBJECT, "objects", next_object, "Files with the most CPU time, busiest first", FIELDS(object_answer));
    EACH(OBJECT, "functions", next_function, "Only where they were asked for", FIELDS(function_answer), PRESENT(functions_named),
         MAYBE);
}

SHARED_ANSWER_TABLE(cpu_samples_answer, struct told_samples, .name = "CpuSamples", .about = "Where a process spends its CPU time")
{
    FIELD(INT, "pid", pid, NULL);
    VIA(KEYS, NULL, s, samples_answer, NULL);
}

void json_cpu_samples(struct json_writer *j, int32_t pid, const struct address_samples *s)
{
    answer_write(j, &cpu_samples_answer, &(struct told_samples){pid, s}, NULL);
}

bool json_cpu_samples_words(struct str answer, char words[ADDRESS_WORDS])
{
    AUTO_JSON json_t *json = json_loadb(answer.at, answer.len, JSON_REJECT_DUPLICATES, NULL);
    const char *text = json_string_value(json_object_get(json, "words"));
    const char *state = json_string_value(json_object_get(json, "state"));
    bool fine = text && state && strcmp(state, "ok") == 0;
    if (fine)
        str_copy_clean(words, ADDRESS_WORDS, str_from(text));
    return fine;
}

/* ---- for people ---- */

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
