/* SPDX-License-Identifier: Apache-2.0
 * What limits processes, as JSON: the body of `whirr why PID`. With it, the lines on which a program spends its time.
 */

#include "format/json/json.h"
#include "format/json/told.h"
#include "format/process_rows.h"
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
