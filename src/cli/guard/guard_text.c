/* SPDX-License-Identifier: Apache-2.0
 * One paragraph per worker: its state, the reason, and problems.
 */
#include "cli/guard/guard.h"

#include "base/cleanup.h"
#include "base/json_reader.h"
#include "base/words.h"

static enum ink text_ink_of(const char *state)
{
    if (strcmp(state, "running") == 0)
        return INK_GOOD;
    return strcmp(state, "absent") == 0 ? INK_FAINT : INK_WARN;
}

static void one(struct buf *out, const struct page *page, const json_t *worker)
{
    const char *state = json_text(worker, "state"), *method = json_text(worker, "method"), *problem = json_text(worker, "problem");
    int64_t pid = json_integer_value(json_object_get(worker, "pid"));
    page_ink(out, page, INK_STRONG, str_from(json_text(worker, "name")));
    buf_text(out, "  ");
    page_ink(out, page, text_ink_of(state), str_from(state));
    if (json_is_true(json_object_get(worker, "held")))
        buf_text(out, ", held");
    if (json_is_true(json_object_get(worker, "throttled")))
        buf_text(out, ", throttled");
    if (method[0])
        buf_printf(out, ", off the GPU through %s", method);
    if (json_is_true(json_object_get(worker, "idle")))
        buf_text(out, ", idle: the next request brings it back");
    struct wall back;
    if (wall_parse(str_from(json_text(worker, "resumes_at")), &back)) {
        char left[WORDS_SIZE];
        buf_printf(out, ", resumes in %s", words_duration(MAX_OF(back.ms - clock_wall(&clock_system).ms, (int64_t)0), left));
    }
    if (json_is_true(json_object_get(worker, "dry_run")))
        buf_text(out, " (dry run)");
    buf_char(out, '\n');
    char held[WORDS_SIZE];
    AUTO_BUF struct buf line = BUF(2048);
    const json_t *memory = json_object_get(worker, "memory_mb");
    buf_text(&line, json_text(worker, "reason"));
    if (json_is_number(memory))
        buf_printf(&line, "; %s%s", words_bytes((int64_t)(json_number_value(memory) * 1048576), held),
                   method[0] ? " to come back" : " held");
    else
        buf_text(&line, "; what it holds can't be read");
    if (pid)
        buf_printf(&line, ", pid %lld", (long long)pid);
    struct wall asked;
    if (!method[0] && wall_parse(str_from(json_text(worker, "last_asked_at")), &asked)) {
        char ago[WORDS_SIZE], after[WORDS_SIZE];
        buf_printf(&line, ", last asked %s ago (unloaded after %s)",
                   words_duration(MAX_OF(clock_wall(&clock_system).ms - asked.ms, (int64_t)0) / 1000 * 1000, ago),
                   words_duration((int64_t)(json_number_value(json_object_get(worker, "idle_after_seconds")) * 1000), after));
    }
    int64_t times = json_integer_value(json_object_get(worker, "evictions_total"));
    if (times == 1)
        buf_text(&line, ", evicted once");
    else if (times)
        buf_printf(&line, ", evicted %lld times", (long long)times);
    buf_text(out, "  ");
    page_wrap(out, page, INK_PLAIN, line.at ? line.at : "", 2, 2);
    if (problem[0]) {
        buf_text(out, "  ");
        page_wrap(out, page, INK_WARN, problem, 2, 2);
    }
}

void guard_text(struct buf *out, const struct page *page, const json_t *workers)
{
    size_t i;
    json_t *worker;
    bool simulated = false;
    json_array_foreach(workers, i, worker) simulated |= json_is_true(json_object_get(worker, "simulated"));
    page_simulated_line(out, page, simulated);
    json_array_foreach(workers, i, worker) one(out, page, worker);
    if (json_array_size(workers) == 0)
        buf_text(out, "No worker is under guard.\n" GUARD_NEXT_STEP "\n");
}
