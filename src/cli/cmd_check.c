/* SPDX-License-Identifier: Apache-2.0
 * whirr check: tests GPUs with known answers. Only on request, never beside other work unless told to; the compute driver is
 * opened in a helper process. Shows a run as text, beside an earlier one, and as the passport of a GPU.
 */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/keep.h"
#include "base/os/console.h"
#include "base/units.h"
#include "base/words.h"
#include "check/check_helper.h"
#include "check/check_history.h"
#include "check/check_record.h"
#include "cli/cli_show.h"
#include "cli/command.h"
#include "insight/check/judge.h"

enum { PASSPORT_BYTES = 1 << 20, NAME_WIDTH = 14 };
#define JSON_BEGIN "<script type=\"application/json\" id=\"passport\">"
#define JSON_END "</script>"
#define JSON_RUNS "\"runs\":"

/* ---- as text ---- */

static const char *const value_words[CHECK_VALUE_COUNT] = {
    [CHECK_VALUE_READ] = "memory read",   [CHECK_VALUE_WRITE] = "memory write",      [CHECK_VALUE_COPY] = "memory copy",
    [CHECK_VALUE_FLOATS] = "FP32",        [CHECK_VALUE_FLOATS_CLOCK] = "FP32/clock", [CHECK_VALUE_WHOLE] = "INT32",
    [CHECK_VALUE_TENSOR] = "tensor FP16", [CHECK_VALUE_LINK_TO] = "PCIe to GPU",     [CHECK_VALUE_LINK_FROM] = "PCIe from GPU",
    [CHECK_VALUE_LATENCY] = "latency",    [CHECK_VALUE_STEADY] = "steadiness",
};

static enum ink ink_of(enum check_verdict verdict)
{
    static const enum ink inks[] = {[CHECK_IS_HEALTHY] = INK_GOOD,
                                    [CHECK_IS_DEGRADED] = INK_WARN,
                                    [CHECK_IS_FAILING] = INK_BAD,
                                    [CHECK_IS_NOT_JUDGED] = INK_STRONG};
    return inks[verdict];
}

static const char *words_verdict(enum check_verdict verdict)
{
    return verdict == CHECK_IS_NOT_JUDGED ? "not judged" : check_verdict_name(verdict);
}

static void row(struct buf *out, const struct page *page, bool bad, const char *name, const char *text)
{
    buf_text(out, "  ");
    page_cell(out, page, INK_LABEL, LEFT, name, NAME_WIDTH);
    page_wrap(out, page, bad ? INK_WARN : INK_PLAIN, text, NAME_WIDTH + 2, NAME_WIDTH + 2);
}

static void show_tests(struct buf *out, const struct page *page, const struct check_run *run)
{
    char many[32], wrong[32], text[160], covered[WORDS_SIZE], all[WORDS_SIZE];
    const char *const what[CHECK_TEST_COUNT] = {[CHECK_LINK] = "words over the link",
                                                [CHECK_FLOATS] = "arithmetic answers",
                                                [CHECK_WHOLE] = "integer answers",
                                                [CHECK_TENSOR] = "tensor answers"};
    for (size_t i = 0; i < CHECK_TEST_COUNT; i++) {
        const struct check_test_run *t = &run->test[i];
        if (!t->begun || (!what[i] && i != CHECK_MEMORY))
            continue;
        words_many(t->answers, many);
        words_many(t->wrong, wrong);
        if (i == CHECK_MEMORY)
            snprintf(text, sizeof text, "%s tested, %s read back; %s wrong%s", words_bytes(run->covered_bytes, covered),
                     words_bytes(run->verified_bytes, all), t->wrong ? wrong : "none", t->finished ? "" : " (not finished)");
        else
            snprintf(text, sizeof text, "%s %s; %s wrong%s", many, what[i], t->wrong ? wrong : "none",
                     t->finished ? "" : " (not finished)");
        row(out, page, t->wrong > 0, check_test_name(i), text);
    }
}

static void show_seen(struct buf *out, const struct page *page, const struct check_run *run)
{
    char heat[NUMBER_SIZE], power[NUMBER_SIZE], text[200];
    int64_t generation, width, clock;
    show_temperature(heat, page, run->temp_max_mdegc);
    show_watts(power, page, run->power_max_mw);
    snprintf(text, sizeof text, "up to %s, %s", heat, power);
    if (reading_get(run->clock_khz, &clock))
        snprintf(text + strlen(text), sizeof text - strlen(text), ", %lld MHz", words_whole(clock, 1000));
    if (reading_get(run->link_generation, &generation) && reading_get(run->link_width, &width))
        snprintf(text + strlen(text), sizeof text - strlen(text), ", PCIe %lld.0 x%lld", (long long)generation, (long long)width);
    if (run->capped_samples)
        snprintf(text + strlen(text), sizeof text - strlen(text), ", at its power limit in %d of %d samples", run->capped_samples,
                 run->samples);
    if (run->samples)
        row(out, page, false, "seen", text);
}

static void check_table(struct buf *out, const struct page *page, const struct check_run *run)
{
    char text[CHECK_WORDS + 160], value[96];
    page_ink(out, page, ink_of(run->verdict), str_from(page_sign(page, run->verdict == CHECK_IS_HEALTHY ? SIGN_FINE : SIGN_LOOK)));
    buf_char(out, ' ');
    snprintf(text, sizeof text, "GPU %d %s: %s; %s", run->gpu_index, run->gpu_name, words_verdict(run->verdict), run->words);
    page_wrap(out, page, INK_STRONG, text, 2, 2);
    if (run->advice[0])
        row(out, page, false, "Do", run->advice);
    show_tests(out, page, run);
    for (size_t i = 0; i < CHECK_VALUE_COUNT; i++)
        if (check_value_words(run, i, value, sizeof value))
            row(out, page, run->value[i].low, value_words[i], value);
    show_seen(out, page, run);
}

static const char *words_day(struct wall at, char out[WALL_TEXT_SIZE])
{
    wall_format(at, out);
    out[10] = ' ';
    out[16] = '\0';
    return out;
}

static void check_history_table(struct buf *out, const struct page *page, const struct check_run *runs, size_t count)
{
    char line[CHECK_WORDS + 96], at[WALL_TEXT_SIZE];
    for (size_t i = count; i-- > 0;) {
        snprintf(line, sizeof line, "%s  %-8s  ", words_day(runs[i].at, at), check_level_name(runs[i].level));
        buf_text(out, line);
        page_cell(out, page, ink_of(runs[i].verdict), LEFT, words_verdict(runs[i].verdict), 12);
        page_wrap(out, page, INK_PLAIN, runs[i].words, 40, 40);
    }
}

static void check_compare_table(struct buf *out, const struct page *page, const struct check_run *run,
                                const struct check_run *before)
{
    char at[WALL_TEXT_SIZE], text[200];
    bool same = strcmp(run->gpu_uuid, before->gpu_uuid) == 0;
    snprintf(text, sizeof text, "Beside %s of %s UTC (%s):", same ? "the check" : "another GPU, checked", words_day(before->at, at),
             before->words);
    page_wrap(out, page, INK_STRONG, text, 2, 0);
    for (size_t i = 0; i < CHECK_VALUE_COUNT; i++) {
        double now = run->value[i].measured, then = before->value[i].measured;
        if (now <= 0 || then <= 0)
            continue;
        snprintf(text, sizeof text, "%.4g %s, was %.4g: %+.1f%%", now, check_value_unit(i), then, (now / then - 1) * 100);
        row(out, page, run->value[i].low, value_words[i], text);
    }
}

/* ---- the passport ---- */

static void passport_hash_ids(struct check_run *run)
{
    char *const ids[] = {run->gpu_uuid, run->serial, run->device.uuid};
    const size_t sizes[] = {sizeof run->gpu_uuid, sizeof run->serial, sizeof run->device.uuid};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        uint8_t digest[SHA256_SIZE];
        char text[HEX_SIZE(16)];
        if (!ids[i][0])
            continue;
        sha256(str_from(ids[i]), digest);
        hex_encode(digest, 16, text);
        snprintf(ids[i], sizes[i], "sha256:%s", text);
    }
    run->host[0] = run->gpu_pci[0] = run->device.pci[0] = '\0';
}

/* Without a '<', so that nothing in it can end the script that carries it. */
static void write_runs(struct buf *out, const struct check_run *const *runs, size_t count)
{
    AUTO_BUF struct buf list = BUF(PASSPORT_BYTES);
    struct json_writer j = JSON_WRITER(&list);
    jw_array(&j);
    for (size_t i = 0; i < count; i++)
        answer_write(&j, &check_run_answer, runs[i], NULL);
    jw_end(&j);
    for (size_t i = 0; i < list.len; i++)
        if (list.at[i] == '<')
            buf_text(out, "\\u003c");
        else
            buf_char(out, list.at[i]);
}

static void checksum(struct str text, char hex[HEX_SIZE(SHA256_SIZE)])
{
    uint8_t digest[SHA256_SIZE];
    sha256(text, digest);
    hex_encode(digest, SHA256_SIZE, hex);
}

struct passport {
    int form;
    const char *made_by, *sha256;
    struct str runs;
};

ANSWER_TABLE(passport_answer, struct passport)
{
    FIELD(INT, "passport", form, NULL);
    FIELD(WORD, "made_by", made_by, NULL);
    FIELD(WORD, "sha256", sha256, NULL);
    FIELD(ANY, "runs", runs, NULL);
}

/* "runs" comes last: the checksum is of its text, up to the brace that ends the passport. */
static void passport_json(struct json_writer *j, const struct check_run *const *runs, size_t count)
{
    AUTO_BUF struct buf list = BUF(PASSPORT_BYTES);
    char hex[HEX_SIZE(SHA256_SIZE)];
    write_runs(&list, runs, count);
    checksum(buf_view(&list), hex);
    answer_write(j, &passport_answer, &(struct passport){1, "whirr " WHIRR_VERSION, hex, buf_view(&list)}, NULL);
}

static void html_row(struct buf *out, const char *name, const char *value)
{
    if (!value[0])
        return;
    buf_printf(out, "<tr><th>%s</th><td>", name);
    buf_markup(out, str_from(value));
    buf_text(out, "</td></tr>\n");
}

static void html_run(struct buf *out, const struct check_run *run)
{
    char text[200], at[WALL_TEXT_SIZE], bytes[WORDS_SIZE], many[32];
    buf_printf(out, "<h1>");
    buf_markup(out, str_from(run->gpu_name));
    buf_printf(out, "</h1>\n<p class=\"%s\"><b>%s</b>: ", check_verdict_name(run->verdict), words_verdict(run->verdict));
    buf_markup(out, str_from(run->words));
    buf_text(out, ".</p>\n");
    if (run->advice[0]) {
        buf_text(out, "<p>");
        buf_markup(out, str_from(run->advice));
        buf_text(out, "</p>\n");
    }
    buf_text(out, "<table>\n");
    html_row(out, "Serial number", run->serial);
    html_row(out, "UUID", run->gpu_uuid);
    html_row(out, "Memory", words_bytes(run->device.total_bytes, bytes));
    html_row(out, "Firmware", run->vbios);
    html_row(out, "Driver", run->driver);
    snprintf(text, sizeof text, "%s UTC, level %s, %.0f s, through %s", words_day(run->at, at), check_level_name(run->level),
             run->took_s, run->device.api);
    html_row(out, "Checked", text);
    html_row(out, "By", "whirr " WHIRR_VERSION);
    buf_text(out, "</table>\n<h2>What was tested</h2>\n<table>\n");
    for (size_t i = 0; i < CHECK_TEST_COUNT; i++) {
        const struct check_test_run *t = &run->test[i];
        if (!t->asked)
            continue;
        snprintf(text, sizeof text, "%s", t->finished ? "done" : t->begun ? "begun" : "not done");
        if (t->answers)
            snprintf(text, sizeof text, "%s answers compared, %lld wrong%s", words_many(t->answers, many), (long long)t->wrong,
                     t->finished ? "" : " (not finished)");
        html_row(out, check_test_name(i), text);
    }
    buf_text(out, "</table>\n<h2>What was measured</h2>\n<table>\n");
    for (size_t i = 0; i < CHECK_VALUE_COUNT; i++)
        if (check_value_words(run, i, text, sizeof text))
            html_row(out, value_words[i], text);
    buf_text(out, "</table>\n");
}

static void passport_html(struct buf *out, const struct check_run *const *runs, size_t count)
{
    AUTO_BUF struct buf json = BUF(PASSPORT_BYTES);
    passport_json(JSON_TO(&json), runs, count);
    buf_text(out, "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>GPU passport</title>\n"
                  "<meta name=\"viewport\" content=\"width=device-width\">\n"
                  "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#222;"
                  "background:#fff}th{text-align:left;font-weight:normal;color:#555;padding-right:2rem;vertical-align:top}"
                  "h2{font-size:1.1rem}.healthy b{color:#176b2c}.degraded b{color:#8a5a00}.failing b{color:#b00020}</style>\n");
    for (size_t i = 0; i < count; i++)
        html_run(out, runs[i]);
    buf_text(out,
             "<p>\"No error found\" is about these tests and answers alone. The page carries all values as JSON with a checksum; "
             "compare a GPU with it: whirr check --compare FILE</p>\n" JSON_BEGIN);
    buf_str(out, buf_view(&json));
    buf_text(out, JSON_END "</html>\n");
}

static int read_passport(struct str text, const json_t *json, struct check_run *ret, struct error *err)
{
    char hex[HEX_SIZE(SHA256_SIZE)];
    const json_t *runs = json_object_get(json, "runs");
    const char *said = json_string_value(json_object_get(json, "sha256")),
               *list = memmem(text.at, text.len, JSON_RUNS, strlen(JSON_RUNS));
    if (!json_is_array(runs) || !said || !list || !check_run_read(json_array_get(runs, 0), ret))
        return error_set(err, -EINVAL, "this is not a GPU passport, or it is from another version of whirr");
    list += strlen(JSON_RUNS);
    checksum((struct str){list, (size_t)(text.at + text.len - 1 - list)}, hex);
    if (strcmp(said, hex) != 0)
        return error_set(err, -EBADMSG, "its checksum is wrong: it was changed after it was made");
    return 0;
}

static int passport_read(struct str text, struct check_run *ret, struct error *err)
{
    const char *begin = memmem(text.at, text.len, JSON_BEGIN, strlen(JSON_BEGIN));
    if (begin) {
        begin += strlen(JSON_BEGIN);
        const char *end = memmem(begin, text.len - (size_t)(begin - text.at), JSON_END, strlen(JSON_END));
        text = (struct str){begin, end ? (size_t)(end - begin) : 0};
    }
    text = str_trim(text);
    AUTO_JSON json_t *json = json_loadb(text.at, text.len, 0, NULL);
    return read_passport(text, json, ret, err);
}

enum { SETTLE_TRIES = 8, SETTLE_MS = 500, REPEAT_AFTER_MS = 2000, REPORT_BYTES = 8 << 20, LONG_FROM_MS = 60000, NOT_JUDGED = 3 };
#define STARTS_WITHIN_S 2.5 /* driver and kernels; quick answers within 8 s */

static const struct {
    double seconds;
    unsigned tests;
} levels[CHECK_LEVEL_COUNT] = {
    [CHECK_LEVEL_QUICK] = {5, (1u << CHECK_TEST_COUNT) - 1},
    [CHECK_LEVEL_STANDARD] = {20, (1u << CHECK_TEST_COUNT) - 1},
    [CHECK_LEVEL_MEMORY] = {180, 1u << CHECK_MEMORY | 1u << CHECK_STREAM},
    [CHECK_LEVEL_FULL] = {300, (1u << CHECK_TEST_COUNT) - 1},
};

struct checking {
    struct cli *cli;
    struct session *session;
    struct check_target *targets;
    size_t count;
    enum check_level level;
    double seconds, deadline_s; /* deadline 0: none */
    bool force, shows;
    struct mono began;
};

static volatile sig_atomic_t stop_wanted;

static void on_signal(int number)
{
    (void)number;
    stop_wanted = 1;
}

/* ---- which GPUs, and may they be tested? ---- */

static void note_property(char *to, size_t size, const struct gpu *gpu, enum property which)
{
    if (gpu->property[which].state == READING_OK)
        str_copy(to, size, str_from(gpu->property[which].value));
}

static void describe(struct checking *k, struct check_target *t, const struct gpu *gpu, const struct snapshot *s)
{
    struct check_run *run = &t->run;
    check_run_init(run, k->level, levels[k->level].tests);
    t->id = gpu->id;
    gpu_copy(&t->before, gpu);
    run->at = s->taken_at;
    run->gpu_index = gpu->index;
    str_copy(run->gpu_uuid, sizeof run->gpu_uuid, str_from(gpu->id.uuid));
    str_copy(run->gpu_pci, sizeof run->gpu_pci, str_from(gpu->id.pci_address));
    str_copy(run->gpu_name, sizeof run->gpu_name, str_from(gpu->id.name[0] ? gpu->id.name : "GPU"));
    note_property(run->serial, sizeof run->serial, gpu, PROPERTY_serial);
    note_property(run->vbios, sizeof run->vbios, gpu, PROPERTY_vbios_version);
    note_property(run->driver, sizeof run->driver, gpu, PROPERTY_driver_version);
    if (!run->driver[0])
        str_copy(run->driver, sizeof run->driver, str_from(s->driver.driver_version));
    snprintf(run->version, sizeof run->version, "%s", WHIRR_VERSION);
    env_host_name(run->host, sizeof run->host);
    run->asked_s = k->seconds;
    run->forced = k->force;
    run->seed = (uint32_t)(clock_mono(&clock_system).ns / 1000) + (uint32_t)gpu->index;
    struct check_order *o = &t->order;
    *o = (struct check_order){.level = k->level,
                              .tests = levels[k->level].tests,
                              .seconds = k->seconds,
                              .deadline_s = k->seconds * 2 + 10,
                              .seed = run->seed,
                              .fold = k->level == CHECK_LEVEL_FULL};
    str_copy(o->uuid, sizeof o->uuid, str_from(gpu->id.uuid));
    str_copy(o->pci, sizeof o->pci, str_from(gpu->id.pci_address));
    o->display = reading_or(gpu->display_active, 0) != 0;
    o->most_bytes = reading_or(gpu->mem_free_bytes, 0); /* not every API tells what is free */
    o->host_bytes = reading_or(s->host.mem_available_bytes, 0);
}

/* A GPU that has just worked still counts as busy: looks again for a while. */
static int choose(struct checking *k, struct error *err)
{
    for (int try = 0;; try++) {
        int only;
        AUTO_SNAPSHOT const struct snapshot *s = session_sample(k->session, GROUP_ALL, err);
        if (!s || session_only(k->session, s, &only, err) < 0)
            return err->code ? err->code : -EIO;
        if (s->gpu_count == 0)
            return error_set(err, -ENODEV, "there is no GPU to check");
        size_t refused = 0;
        k->count = 0;
        for (size_t i = 0; i < s->gpu_count; i++) {
            char words[CHECK_WORDS];
            if (only != ALL_GPUS && only != (int)i)
                continue;
            struct check_target *t = &k->targets[k->count++];
            check_target_done(t);
            *t = (struct check_target){.fd = -1};
            describe(k, t, &s->gpus[i], s);
            if (!check_refuses(&s->gpus[i], words))
                continue;
            bool never = s->gpus[i].simulated || s->gpus[i].state == GPU_ERROR || s->gpus[i].state == GPU_LOST;
            bool asleep = s->gpus[i].state == GPU_ASLEEP;
            if (!never && (asleep ? options_has(k->cli->options, "wake") : k->force)) {
                t->run.disturbed = !asleep;
                continue;
            }
            t->skipped = true;
            t->run.end = never || asleep ? CHECK_REFUSED : CHECK_IN_USE;
            snprintf(t->run.reason, sizeof t->run.reason, "%.180s", words);
            refused += t->run.end == CHECK_IN_USE;
        }
        if (refused == 0 || try == SETTLE_TRIES || stop_wanted)
            return 0;
        pause_ms(SETTLE_MS);
    }
}

/* ---- while it runs ---- */

static const struct snapshot *look(void *user)
{
    struct checking *k = user;
    struct error ignored = {0};
    return session_sample(k->session, GROUP_ALL, &ignored);
}

/* One line, redrawn: what is tested, how much memory, errors, heat. */
static void progress(void *user, const struct check_target *targets, size_t count)
{
    struct checking *k = user;
    int64_t wrong = 0, hottest = 0, covered = 0;
    const char *test = "starting";
    char bytes[WORDS_SIZE], heat[WORDS_SIZE];
    size_t ended = 0;
    for (size_t i = 0; i < count; i++) {
        const struct check_run *run = &targets[i].run;
        for (size_t t = 0; t < CHECK_TEST_COUNT; t++) {
            wrong += run->test[t].wrong;
            if (run->test[t].begun && !run->test[t].finished && !targets[i].ended)
                test = check_test_name(t);
        }
        covered += run->covered_bytes;
        hottest = MAX_OF(hottest, reading_or(run->temp_max_mdegc, 0));
        ended += targets[i].ended;
    }
    if (!k->shows)
        return;
    fprintf(stderr, "\r\033[K%3llds  %s", (long long)mono_since_ms(clock_mono(&clock_system), k->began) / MS_PER_S, test);
    if (count > 1)
        fprintf(stderr, "  %zu of %zu GPUs done", ended, count);
    fprintf(stderr, "  %s of memory  %lld error%s", words_bytes(covered, bytes), (long long)wrong, wrong == 1 ? "" : "s");
    if (hottest)
        fprintf(stderr, "  %s", words_temperature(hottest, heat));
    fflush(stderr);
}

static void conduct(struct checking *k, struct mono deadline)
{
    struct check_conduct c = {.env = &k->cli->env,
                              .targets = k->targets,
                              .count = k->count,
                              .deadline = deadline,
                              .look = look,
                              .progress = progress,
                              .stop = &stop_wanted,
                              .user = k};
    struct wall until = {clock_wall(&clock_system).ms + (int64_t)((k->seconds * 2 + 60) * MS_PER_S)};
    for (size_t i = 0; i < k->count; i++)
        if (!k->targets[i].skipped)
            check_mark(&k->targets[i].id, (int32_t)getpid(), until);
    check_conduct(&c);
    for (size_t i = 0; i < k->count; i++)
        if (!k->targets[i].skipped)
            check_mark(&k->targets[i].id, 0, (struct wall){0});
    if (k->shows)
        fputs("\r\033[K", stderr);
}

/* ---- the verdict ---- */

static void judge(struct checking *k)
{
    for (size_t i = 0; i < k->count; i++) {
        const struct check_run *siblings[GPU_MAX];
        size_t sibling_count = 0, past_count;
        AUTO_FREE struct check_run *past = NULL;
        for (size_t j = 0; j < k->count; j++)
            if (j != i && strcmp(k->targets[j].run.gpu_name, k->targets[i].run.gpu_name) == 0)
                siblings[sibling_count++] = &k->targets[j].run;
        past_count = check_history(&k->targets[i].id, &past);
        check_judge(&k->targets[i].run, past, past_count, siblings, sibling_count);
    }
}

/* A low value may have been a disturbance: its test is done once more, and only a second miss counts. */
static void repeat_suspects(struct checking *k, struct mono deadline)
{
    AUTO_FREE struct check_run *first = calloc(k->count, sizeof *first);
    bool any = false;
    if (!first)
        return;
    for (size_t i = 0; i < k->count; i++) {
        struct check_target *t = &k->targets[i];
        unsigned tests = t->run.verdict == CHECK_IS_DEGRADED && t->run.end == CHECK_DONE ? check_suspects(&t->run) : 0;
        first[i] = t->run;
        t->skipped = tests == 0;
        any |= tests != 0;
        t->order.tests = tests;
        t->order.seconds = MAX_OF(k->seconds / 4, 2.0);
        t->order.seed++;
        t->over = t->described = false;
        t->stop_at = (struct mono){0};
    }
    double left_s = (double)(deadline.ns - clock_mono(&clock_system).ns) / NS_PER_S;
    if (!any || stop_wanted || (deadline.ns && left_s < STARTS_WITHIN_S * 2 + REPEAT_AFTER_MS / (double)MS_PER_S))
        return;
    pause_ms(REPEAT_AFTER_MS);
    conduct(k, deadline);
    for (size_t i = 0; i < k->count; i++) {
        struct check_run *again = &k->targets[i].run;
        if (!k->targets[i].skipped && again->end == CHECK_DONE)
            for (size_t v = 0; v < CHECK_VALUE_COUNT; v++)
                if (first[i].value[v].low && again->value[v].measured > first[i].value[v].measured)
                    first[i].value[v].measured = again->value[v].measured;
        *again = first[i];
    }
    judge(k);
}

static enum check_verdict worst_of(const struct checking *k)
{
    static const int rank[] = {[CHECK_IS_HEALTHY] = 0, [CHECK_IS_NOT_JUDGED] = 1, [CHECK_IS_DEGRADED] = 2, [CHECK_IS_FAILING] = 3};
    enum check_verdict worst = CHECK_IS_HEALTHY;
    for (size_t i = 0; i < k->count; i++)
        if (rank[k->targets[i].run.verdict] > rank[worst])
            worst = k->targets[i].run.verdict;
    return worst;
}

/* ---- output ---- */

static int write_report(struct checking *k, const char *path, struct error *err)
{
    const struct check_run *runs[GPU_MAX];
    AUTO_BUF struct buf out = BUF(REPORT_BYTES);
    if (options_has(k->cli->options, "hash"))
        for (size_t i = 0; i < k->count; i++)
            passport_hash_ids(&k->targets[i].run);
    for (size_t i = 0; i < k->count; i++)
        runs[i] = &k->targets[i].run;
    if (str_ends(str_from(path), ".json"))
        passport_json(JSON_LINE(&out), runs, k->count);
    else
        passport_html(&out, runs, k->count);
    int rc = buf_check(&out, err, "the report is too long");
    return rc < 0 ? rc : keep_write_as(path, buf_view(&out), 0644, err);
}

static int read_earlier(const char *path, struct check_run *ret, struct error *err)
{
    AUTO_BUF struct buf text = BUF(REPORT_BYTES);
    int rc = keep_read(path, &text, err);
    if (rc == 0)
        rc = passport_read(buf_view(&text), ret, err);
    return rc < 0 ? error_prefix(err, "cannot compare with %s", path) : 0;
}

static const void *next_run(const struct answer_at *at, struct answer_step *step)
{
    const struct checking *k = at->record;
    return step->at < k->count ? &k->targets[step->at++].run : NULL;
}

ANSWER_MAKER(make_verdict, struct checking, word, check_verdict_name(worst_of(of)));

ANSWER_TABLE(checks_answer, struct checking)
{
    MADE(WORD, "verdict", make_verdict, "The worst");
    EACH(OBJECT, "checks", next_run, NULL, FIELDS(check_run_answer));
}

static void write_earlier(const struct answer_at *at, struct json_writer *j)
{
    const struct checking *k = at->record;
    jw_array(j);
    for (size_t i = 0; i < k->count; i++) {
        AUTO_FREE struct check_run *runs = NULL;
        size_t count = check_history(&k->targets[i].id, &runs);
        for (size_t n = 0; n < count; n++)
            answer_write(j, &check_run_answer, &runs[n], NULL);
    }
    jw_end(j);
}

ANSWER_TABLE(earlier_answer, struct checking)
{
    WRITER(LIST, "checks", write_earlier, NULL, .item = ANSWER_OBJECT, FIELDS(check_run_answer));
}

static int print(struct checking *k, const struct check_run *earlier)
{
    AUTO_BUF struct buf out = BUF(REPORT_BYTES);
    if (k->cli->json)
        return show_answer(k->cli, &checks_answer, k);
    for (size_t i = 0; i < k->count; i++) {
        check_table(&out, &k->cli->page, &k->targets[i].run);
        if (earlier)
            check_compare_table(&out, &k->cli->page, &k->targets[i].run, earlier);
    }
    return show_text(&out);
}

static int show_history(struct checking *k)
{
    AUTO_BUF struct buf out = BUF(REPORT_BYTES);
    if (k->cli->json)
        return show_answer(k->cli, &earlier_answer, k);
    for (size_t i = 0; i < k->count; i++) {
        AUTO_FREE struct check_run *runs = NULL;
        size_t count = check_history(&k->targets[i].id, &runs);
        buf_printf(&out, "GPU %d %s%s\n", k->targets[i].run.gpu_index, k->targets[i].run.gpu_name,
                   count ? "" : ": never checked here");
        check_history_table(&out, &k->cli->page, runs, count);
    }
    return show_text(&out);
}

/* ---- the command ---- */

static int read_options(struct checking *k)
{
    static const char *const names[] = {"quick", "standard", "memory", "full"};
    const char *level = options_value(k->cli->options, "level", "standard");
    int64_t ms;
    while (k->level < CHECK_LEVEL_COUNT && strcmp(level, names[k->level]) != 0)
        k->level++;
    k->seconds = levels[k->level].seconds;
    const char *within = options_value(k->cli->options, "for", NULL), *deadline = options_value(k->cli->options, "deadline", NULL);
    if (within && (!duration_parse(str_from(within), &ms) || ms < MS_PER_S || ms > HOUR_MS))
        return cli_usage(k->cli, "invalid value '%s' for --for; expected 1s to 1h", within), NOT_JUDGED;
    if (within)
        k->seconds = (double)ms / MS_PER_S;
    if (deadline && (!duration_parse(str_from(deadline), &ms) || ms < 4 * MS_PER_S))
        return cli_usage(k->cli, "invalid value '%s' for --deadline; expected at least 4s", deadline), NOT_JUDGED;
    if (deadline)
        k->deadline_s = (double)ms / MS_PER_S;
    else if (k->level == CHECK_LEVEL_QUICK && !within)
        k->deadline_s = 8;
    if (k->deadline_s > 0)
        k->seconds = MAX_OF(MIN_OF(k->seconds, k->deadline_s - STARTS_WITHIN_S), 1.0);
    k->force = options_has(k->cli->options, "force");
    return EXIT_FINE;
}

static bool is_confirmed(const struct checking *k)
{
    char line[16];
    if (k->seconds * MS_PER_S < LONG_FROM_MS || options_has(k->cli->options, "yes"))
        return true;
    if (!k->shows)
        return false;
    fprintf(stderr, "This puts %zu GPU%s under full load for %.0f minutes. Continue? [y/N] ", k->count, k->count == 1 ? "" : "s",
            k->seconds / 60);
    return console_line(line, sizeof line) && (line[0] == 'y' || line[0] == 'Y');
}

static int run_checks(struct checking *k)
{
    struct error err = {0};
    const char *report = options_value(k->cli->options, "report", NULL), *compare = options_value(k->cli->options, "compare", NULL);
    AUTO_FREE struct check_run *earlier = compare ? calloc(1, sizeof *earlier) : NULL;
    if (compare && (!earlier || read_earlier(compare, earlier, &err) < 0))
        return cli_fail("%s", earlier ? err.text : "out of memory"), NOT_JUDGED;
    if (choose(k, &err) < 0)
        return cli_error(k->cli, &err), NOT_JUDGED;
    if (options_has(k->cli->options, "history"))
        return show_history(k);
    if (!is_confirmed(k))
        return cli_fail("a check of a minute or more needs --yes where nobody can be asked"), NOT_JUDGED;
    const struct sigaction act = {.sa_handler = on_signal};
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    k->began = clock_mono(&clock_system);
    struct mono deadline = {k->deadline_s > 0 ? k->began.ns + (int64_t)(k->deadline_s * NS_PER_S) : 0};
    conduct(k, deadline);
    judge(k);
    repeat_suspects(k, deadline);
    for (size_t i = 0; i < k->count; i++)
        if (k->targets[i].run.test[CHECK_LINK].begun || k->targets[i].run.end == CHECK_SILENT)
            if (check_keep(&k->targets[i].run, &k->targets[i].id, &err) < 0)
                fprintf(stderr, "whirr: the result was not saved: %s\n", err.text);
    int rc = report ? write_report(k, report, &err) : 0;
    int shown = print(k, earlier);
    if (rc < 0)
        return cli_fail("cannot write the report: %s", err.text), NOT_JUDGED;
    if (report)
        fprintf(stderr, "whirr: the report was written to %s\n", report);
    static const int exits[] = {
        [CHECK_IS_HEALTHY] = 0, [CHECK_IS_DEGRADED] = 1, [CHECK_IS_FAILING] = 2, [CHECK_IS_NOT_JUDGED] = NOT_JUDGED};
    return shown != EXIT_FINE ? shown : exits[worst_of(k)];
}

static int check_run_command(struct cli *cli)
{
    struct error err = {0};
    struct checking k = {.cli = cli, .shows = isatty(STDERR_FILENO) && !cli->json};
    int status = read_options(&k);
    if (status != EXIT_FINE)
        return status;
    k.targets = calloc(GPU_MAX, sizeof *k.targets);
    k.session = k.targets ? session_open(cli, &err) : NULL;
    if (!k.session) {
        free(k.targets);
        return cli_error(cli, &err), NOT_JUDGED;
    }
    session_set_max_age(k.session, 100);
    status = run_checks(&k);
    for (size_t i = 0; i < k.count; i++)
        check_target_done(&k.targets[i]);
    free(k.targets);
    session_close(k.session);
    return status;
}

static const char *const level_names[] = {"quick", "standard", "memory", "full", NULL};
static const struct option_spec options[] = {
    {.name = "level",
     .argument = "LEVEL",
     .values = level_names,
     .help = "quick (5 s), standard (20 s, the default), memory (3 min), or full (5 min)"},
    {.name = "for", .argument = "TIME", .help = "Test for this long: 4s, 10m"},
    {.name = "deadline", .argument = "TIME", .help = "Answer within this time, whatever the GPU does (quick: 8s)"},
    {.name = "force", .help = "Test what is free beside other work; speed is not judged then"},
    {.name = "wake", .help = "Wake GPUs that are asleep"},
    {.name = "yes", .letter = 'y', .help = "Don't ask before minutes of full load"},
    {.name = "report",
     .argument = "FILE",
     .complete = COMPLETE_FILE,
     .help = "Write a GPU passport: HTML, or JSON for a FILE.json"},
    {.name = "hash", .help = "Replace serial number and UUID in the passport by hashes"},
    {.name = "compare",
     .argument = "FILE",
     .complete = COMPLETE_FILE,
     .help = "Show the values beside those of an earlier passport"},
    {.name = "history", .help = "List earlier checks instead"},
};

const struct command command_check = {
    .exits =
        "as `whirr health`: 0 healthy; 1 degraded; 2 failing: a wrong bit or answer, a hang, a loss; 3 not judged (in use, too "
        "little tested, no compute driver, stopped, wrong usage).",
    .failure_status = 3,
    .name = "check",
    .group = HELP_ACT,
    .summary = "Test GPUs with known answers: memory, arithmetic, link, speed",
    .details =
        "Puts the GPU under full load and compares what it returns with answers that are known: nearly all of its free memory, "
        "floating-point and integer arithmetic, tensor cores, data over PCIe; and measures bandwidth, speed, and link under load. "
        "Speed is "
        "compared with what clocks and widths allow, with earlier checks of this GPU, and with its siblings. Refuses while "
        "other programs compute on the GPU, stops within a second and before the GPU gets too hot. Needs the compute driver "
        "(CUDA, or OpenCL). What it finds shows in `whirr health`, `whirr why` and alerts until a clean check; run it as root "
        "for that to hold for the whole host. \"No error\" is about these tests: it doesn't prove that there is none.",
    OPTIONS(options),
    .examples = {{"whirr check --gpu 0", "20 seconds, and a verdict"},
                 {"whirr check --level quick", "all GPUs at once, answered within 8 s: for a scheduler's epilog"},
                 {"whirr check --level full --yes --report gpu.html", "5 minutes, and a passport for a buyer"}},
    .lacks = "host",
    .run = check_run_command,
};

/* ---- the helper ---- */

static int check_helper_run(struct cli *cli)
{
    struct check_order order = {0};
    if (!check_order_read(cli->options->arguments[0], &order))
        return cli_usage(cli, "only `whirr check` starts this");
    return check_helper(&cli->env, &order, stdout);
}

const struct command command_check_helper = {
    .alone = true,
    .name = "check-helper",
    .summary = "The tests of one GPU, for whirr check",
    .arguments = "ORDER",
    .arguments_min = 1,
    .arguments_max = 1,
    .hidden = true,
    .run = check_helper_run,
};
