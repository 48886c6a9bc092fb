/* SPDX-License-Identifier: Apache-2.0
 * Runs as text, and the passport of a GPU as JSON or one page of HTML.
 */
#include "cli/check/check_show.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/words.h"
#include "check/record.h"
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

void check_table(struct buf *out, const struct page *page, const struct check_run *run)
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

void check_history_table(struct buf *out, const struct page *page, const struct check_run *runs, size_t count)
{
    char line[CHECK_WORDS + 96], at[WALL_TEXT_SIZE];
    for (size_t i = count; i-- > 0;) {
        snprintf(line, sizeof line, "%s  %-8s  ", words_day(runs[i].at, at), check_level_name(runs[i].level));
        buf_text(out, line);
        page_cell(out, page, ink_of(runs[i].verdict), LEFT, words_verdict(runs[i].verdict), 12);
        page_wrap(out, page, INK_PLAIN, runs[i].words, 40, 40);
    }
}

void check_compare_table(struct buf *out, const struct page *page, const struct check_run *run, const struct check_run *before)
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

void passport_hash_ids(struct check_run *run)
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
void passport_json(struct json_writer *j, const struct check_run *const *runs, size_t count)
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

void passport_html(struct buf *out, const struct check_run *const *runs, size_t count)
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

int passport_read(struct str text, struct check_run *ret, struct error *err)
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
