/* SPDX-License-Identifier: Apache-2.0
 * Turns parameters into a query.
 */
#include "past/question.h"

#include <errno.h>
#include <stdio.h>

#include "answer/parameter.h"
#include "base/cleanup.h"
#include "base/units.h"
#include "base/words.h"
#include "past/past_json.h"

/* Short names for the most popular metrics. */
static const struct {
    const char *word, *gpu, *process, *host;
} short_names[] = {
    {"util", "utilization_percent", "utilization_percent", NULL},
    {"utilization", "utilization_percent", "utilization_percent", NULL},
    {"gpu_utilization_percent", "utilization_percent", NULL, NULL},
    {"memory", "memory_used_mb", "memory_mb", NULL},
    {"vram", "memory_used_mb", "memory_mb", NULL},
    {"power", "power_watts", "power_watts", NULL},
    {"energy", "energy_joules", "energy_joules", NULL},
    {"tokens", NULL, "tokens_per_second", NULL},
    {"temp", "temperature_celsius", NULL, NULL},
    {"temperature", "temperature_celsius", NULL, NULL},
    {"fan", "fan_percent", NULL, NULL},
    {"clock", "clock_graphics_mhz", NULL, NULL},
    {"cpu", NULL, NULL, "cpu_percent"},
    {"load", NULL, NULL, "load_average_1m"},
};

static const struct history_metric process_metrics[] = {
    {OF_PROCESS, PROCESS_MEMORY_BYTES, "memory_mb", "MiB", 1.0 / (1 << 20), false, false},
    {OF_PROCESS, PROCESS_SM_PERMILLE, "utilization_percent", "%", 0.1, false, false},
    {OF_PROCESS, PROCESS_POWER_MW, "power_watts", "W", 1e-3, false, false},
    {OF_PROCESS, PROCESS_ENERGY_MJ, "energy_joules", "J", 1e-3, false, true},
    {OF_PROCESS, PROCESS_TOKENS_MILLI, "tokens_per_second", "tok/s", 1e-3, false, false},
    {OF_PROCESS, PROCESS_PROMPT_MILLI, "prompt_tokens_per_second", "tok/s", 1e-3, false, false},
    {OF_PROCESS, PROCESS_RUNNING_MILLI, "requests_running", "", 1e-3, false, false},
};

static const char *const usual_gpu[] = {"utilization_percent", "memory_used_mb", "power_watts", "temperature_celsius"};

const char *metric_unit(const char *name)
{
    static const struct {
        const char *end, *unit;
    } units[] = {
        {"_pages_per_second", "pages/s"},
        {"_bytes_per_second", "B/s"},
        {"_percent", "%"},
        {"_watts", "W"},
        {"_celsius", "°C"},
        {"_mb", "MiB"},
        {"_mhz", "MHz"},
        {"_rpm", "rpm"},
        {"_joules", "J"},
        {"_volts", "V"},
        {"_seconds", "s"},
        {"_bytes", "B"},
    };
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_ends(str_from(name), units[i].end))
            return units[i].unit;
    return "";
}

struct history_metric history_metric_of(enum history_of of, size_t column)
{
    struct series_column c = series_column(of == OF_GPU ? SERIES_GPU : SERIES_HOST, column);
    return (struct history_metric){
        .of = of, .column = column, .name = c.json, .unit = c.bits ? "" : metric_unit(c.json), .scale = c.scale, .bits = c.bits};
}

/* ---- metrics by name ---- */

static bool find_series(enum history_of of, const char *name, struct history_metric *ret)
{
    int column = series_find(of == OF_GPU ? SERIES_GPU : SERIES_HOST, name);
    if (column >= 0)
        *ret = history_metric_of(of, (size_t)column);
    return column >= 0;
}

static bool find_process(const char *name, struct history_metric *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(process_metrics); i++)
        if (strcmp(process_metrics[i].name, name) == 0) {
            *ret = process_metrics[i];
            return true;
        }
    return false;
}

static bool find_metric(bool of_process, const char *name, struct history_metric *ret)
{
    bool of_host = strncmp(name, "host.", 5) == 0;
    name += of_host ? 5 : 0;
    const char *gpu = name, *process = name, *host = name;
    for (size_t i = 0; i < ARRAY_LEN(short_names); i++)
        if (strcmp(short_names[i].word, name) == 0) {
            gpu = short_names[i].gpu;
            process = short_names[i].process;
            host = short_names[i].host;
        }
    if (of_process)
        return process && find_process(process, ret);
    return (gpu && !of_host && find_series(OF_GPU, gpu, ret)) || (host && find_series(OF_HOST, host, ret));
}

static void try_host_name(struct nearest *n, const char *name)
{
    char candidate[NEAREST_SIZE];
    snprintf(candidate, sizeof candidate, "host.%s", name);
    nearest_try(n, candidate);
}

static int unknown_metric(bool of_process, const char *name, struct error *err)
{
    struct nearest n;
    nearest_init(&n, name);
    for (size_t i = 0; i < ARRAY_LEN(process_metrics) && of_process; i++)
        nearest_try(&n, process_metrics[i].name);
    for (size_t i = 0; i < series_count(SERIES_GPU) && !of_process; i++)
        nearest_try(&n, series_column(SERIES_GPU, i).json);
    for (size_t i = 0; i < series_count(SERIES_HOST) && !of_process; i++)
        try_host_name(&n, series_column(SERIES_HOST, i).json);
    if (!nearest_found(&n))
        return error_set(err, -EINVAL, "metric '%s' is not known; they are called as in `whirr help metrics`", name);
    return error_set(err, -EINVAL, "metric '%s' is not known; did you mean '%s'?", name, n.best);
}

static int add_metrics(struct history_question *q, struct str list, struct error *err)
{
    bool of_process = history_of_process(q);
    struct str word;
    while (str_cut(&list, ',', &word)) {
        char name[96];
        word = str_trim(word);
        if (word.len == 0)
            continue;
        str_copy(name, sizeof name, word);
        if (strcmp(name, "all") == 0 || strcmp(name, "host.all") == 0) {
            q->all_metrics = true;
            q->metrics[0] = (struct history_metric){.of = name[0] == 'h' ? OF_HOST : OF_GPU};
            continue;
        }
        if (q->metric_count == QUESTION_METRICS_MAX)
            return error_set(err, -EINVAL, "metric may name at most %d metrics", QUESTION_METRICS_MAX);
        struct history_metric metric;
        if (!find_metric(of_process, name, &metric))
            return unknown_metric(of_process, name, err);
        if (!q->all_metrics)
            q->metrics[q->metric_count++] = metric;
    }
    if (q->all_metrics)
        q->metric_count = 0;
    return 0;
}

static int read_metrics(struct history_question *q, history_parameter_fn *parameter, void *user, struct error *err)
{
    char text[2048];
    int rc = parameter(user, "metric", text, sizeof text) ? add_metrics(q, str_from(text), err) : 0;
    if (rc < 0)
        return rc;
    if (q->all_metrics) {
        if (q->format == HISTORY_JSON)
            return error_set(err, -EINVAL, "metric=all is for downloads: add format=csv or format=jsonl");
        if (history_of_process(q))
            return error_set(err, -EINVAL, "metric=all is for GPUs and hosts, not for a process");
        return 0;
    }
    for (size_t i = 0; q->metric_count == 0 && i < ARRAY_LEN(usual_gpu) && !history_of_process(q); i++)
        find_series(OF_GPU, usual_gpu[i], &q->metrics[i]);
    for (size_t i = 0; q->metric_count == 0 && i < 3 && history_of_process(q); i++)
        q->metrics[i] = process_metrics[i];
    if (q->metric_count == 0)
        q->metric_count = history_of_process(q) ? 3 : ARRAY_LEN(usual_gpu);
    for (size_t i = 1; i < q->metric_count && q->format != HISTORY_JSON; i++)
        if (q->metrics[i].of != q->metrics[0].of)
            return error_set(err, -EINVAL, "metric: a download is either of GPUs or of hosts, not of both");
    return 0;
}

/* ---- the rest ---- */

/* Reads a moment like moment_parse(). Leaves *ret and *given alone if the parameter is missing. -EINVAL and a message. */
static int question_read_moment(const char *key, history_parameter_fn *parameter, void *user, struct wall now,
                                enum moment_zone zone, bool *given, struct wall *ret, struct error *err)
{
    char text[96];
    if (!parameter(user, key, text, sizeof text))
        return 0;
    *given = true;
    return moment_parse(str_from(text), now, zone, ret) ? 0 : error_set(err, -EINVAL, "%s must be %s", key, MOMENT_SYNTAX);
}

static int not_before(const struct question_span *span, struct wall now, enum moment_zone zone, struct error *err)
{
    char from[MOMENT_TEXT_SIZE], to[MOMENT_TEXT_SIZE];
    if (span->since.ms > now.ms)
        return error_set(err, -EINVAL, "since is in the future");
    if (zone == MOMENT_UTC || span->since.ms <= 0)
        return error_set(err, -EINVAL, "since must be before until");
    moment_format_span(span->since, span->until, now, from, to);
    return error_set(err, -EINVAL, "since must be before until: it is from %s to %s", from, to);
}

int question_read_span(history_parameter_fn *parameter, void *user, struct wall now, enum moment_zone zone,
                       struct question_span *span, struct error *err)
{
    char text[96];
    if (parameter(user, "since", text, sizeof text) && strcmp(text, "all") == 0) {
        span->since = (struct wall){0};
        span->has_since = true;
    } else {
        int rc = question_read_moment("since", parameter, user, now, zone, &span->has_since, &span->since, err);
        if (rc < 0)
            return rc;
    }
    span->has_until = parameter(user, "until", text, sizeof text);
    if (span->has_until && !moment_parse_end(str_from(text), span->since, now, zone, &span->until))
        return error_set(err, -EINVAL, "until must be %s", MOMENT_SYNTAX);
    return span->since.ms >= span->until.ms && !span->any_order ? not_before(span, now, zone, err) : 0;
}

/* "auto"; "raw"; "60" means seconds; "5m" is a duration. */
static int read_step(struct history_question *q, const char *text, struct error *err)
{
    double seconds;
    if (strcmp(text, "auto") == 0)
        return 0;
    if (strcmp(text, "raw") == 0) {
        if (q->format == HISTORY_JSON)
            return error_set(err, -EINVAL, "step=raw is for downloads: add format=csv or format=jsonl");
        if (history_of_process(q))
            return error_set(err, -EINVAL, "step must be at least 1m for a process, of which minutes are kept");
        q->raw = true;
        return 0;
    }
    if (str_to_double(str_from(text), &seconds))
        q->step_ms = seconds >= 1 && seconds <= 1e9 ? (int64_t)(seconds * MS_PER_S) : 0;
    else if (!duration_parse(str_from(text), &q->step_ms))
        q->step_ms = 0;
    if (q->step_ms < MS_PER_S)
        return error_set(err, -EINVAL, "step must be auto, raw, or a duration of at least 1s, like 60s, 5m or 1h");
    /* Above a minute, use whole ones: these are aggregated already, so no samples need to be read. */
    if (q->step_ms > MINUTE_MS)
        q->step_ms = (q->step_ms + MINUTE_MS - 1) / MINUTE_MS * MINUTE_MS;
    return 0;
}

static int read_format(struct history_question *q, const char *text, struct error *err)
{
    static const char *const names[] = {[HISTORY_JSON] = "json", [HISTORY_CSV] = "csv", [HISTORY_JSONL] = "jsonl"};
    q->format = (enum history_format)NAME_FIND(names, str_from(text));
    return q->format < ARRAY_LEN(names) ? 0 : error_set(err, -EINVAL, "format must be json, csv or jsonl");
}

static int read_who(struct history_question *q, history_parameter_fn *parameter, void *user, struct error *err)
{
    char text[64];
    int64_t number = 0;
    int rc = 0;
    parameter(user, "gpu", q->gpus, sizeof q->gpus);
    if (!q->gpus[0])
        parameter(user, "gpu_index", q->gpus, sizeof q->gpus);
    parameter(user, "host", q->host, sizeof q->host);
    parameter(user, "process", q->process, sizeof q->process);
    /* A number as the name of a process is its PID. */
    if (str_to_i64(str_from(q->process), &number) && number > 0 && number <= INT32_MAX) {
        q->pid = (int32_t)number;
        q->process[0] = '\0';
    }
    if (parameter(user, "pid", text, sizeof text)) {
        rc = parameter_whole(PARAMETER_pid, text, &number, err);
        q->pid = (int32_t)number;
    }
    if (rc == 0 && parameter(user, "life", text, sizeof text))
        rc = parameter_whole(PARAMETER_life, text, &q->run, err);
    return rc;
}

static int read_list(struct history_question *q, history_parameter_fn *parameter, void *user, struct error *err)
{
    char text[64];
    int64_t number;
    int rc = 0;
    if (parameter(user, "limit", text, sizeof text)) {
        rc = parameter_whole(PARAMETER_limit, text, &number, err);
        q->limit = rc == 0 ? (size_t)number : 0;
    }
    if (rc == 0 && parameter(user, "points", text, sizeof text)) {
        rc = parameter_whole(PARAMETER_points, text, &number, err);
        q->points = rc == 0 ? (size_t)number : 0;
    }
    if (rc == 0 && parameter(user, "cursor", text, sizeof text) && !str_to_cursor(str_from(text), &q->cursor))
        return error_set(err, -EINVAL, "cursor must be the next_cursor of an answer");
    parameter(user, "kind", q->event, sizeof q->event);
    if (rc == 0 && parameter(user, "sort", text, sizeof text)) {
        q->by_energy = strcmp(text, "energy") == 0;
        if (!q->by_energy && strcmp(text, "time") != 0)
            return error_set(err, -EINVAL, "sort must be time or energy");
        if (q->by_energy && q->cursor)
            return error_set(err, -EINVAL, "cursor needs sort=time: the order by energy changes while processes run");
    }
    return rc;
}

static int read_when(struct history_question *q, history_parameter_fn *parameter, void *user, struct wall now,
                     enum moment_zone zone, struct error *err)
{
    char text[96];
    struct question_span span = {.since = {q->since_ms}, .until = {q->until_ms}};
    int rc = question_read_span(parameter, user, now, zone, &span, err);
    q->since_ms = span.since.ms;
    q->until_ms = span.until.ms;
    if (rc == 0 && parameter(user, "step", text, sizeof text))
        rc = read_step(q, text, err);
    return rc;
}

int history_question_read(struct history_question *q, enum history_kind kind, history_parameter_fn *parameter, void *user,
                          struct wall now, enum moment_zone zone, struct error *err)
{
    char text[16];
    *q = (struct history_question){.kind = kind,
                                   .since_ms = now.ms - 6 * HOUR_MS,
                                   .until_ms = now.ms + 1,
                                   .points = QUESTION_POINTS_DEFAULT,
                                   .limit = QUESTION_LIMIT_DEFAULT};
    int rc = parameter(user, "format", text, sizeof text) ? read_format(q, text, err) : 0;
    if (rc == 0 && kind == HISTORY_LIMITS && q->format != HISTORY_JSON)
        rc = error_set(err, -EINVAL, "format must be json: limits are no download");
    if (rc == 0)
        rc = read_who(q, parameter, user, err);
    if (rc == 0)
        rc = read_when(q, parameter, user, now, zone, err);
    if (rc == 0)
        rc = read_list(q, parameter, user, err);
    return rc == 0 && kind == HISTORY_SERIES ? read_metrics(q, parameter, user, err) : rc;
}

/* ---- why and report ---- */

static int refuse_future(const char *key, struct wall at, struct wall now, struct error *err)
{
    return at.ms > now.ms + 1000 ? error_set(err, -EINVAL, "%s is in the future", key) : 0;
}

static int read_span(struct past_question *q, past_parameter_fn *parameter, void *user, enum moment_zone zone,
                     struct question_span *span, struct error *err)
{
    *span = (struct question_span){.since = q->since, .until = q->until};
    int rc = question_read_span(parameter, user, q->now, zone, span, err);
    q->since = span->since;
    q->until = span->until;
    struct error future = {0};
    if (refuse_future("since", q->since, q->now, &future) == 0 && refuse_future("until", q->until, q->now, &future) == 0)
        return rc;
    *err = future; /* more helpful than "not before the other" */
    return future.code;
}

static void read_subject(struct past_question *q, past_parameter_fn *parameter, void *user)
{
    if (!parameter(user, "gpu", q->gpu, sizeof q->gpu))
        parameter(user, "gpu_index", q->gpu, sizeof q->gpu);
    parameter(user, "host", q->host, sizeof q->host);
}

int past_question_read(struct past_question *q, past_parameter_fn *parameter, void *user, struct wall now, enum moment_zone zone,
                       struct error *err)
{
    bool has_at = false;
    struct question_span span = {0};
    *q = (struct past_question){.now = now, .until = now};
    int rc = question_read_moment("at", parameter, user, now, zone, &has_at, &q->at, err);
    if (rc == 0)
        rc = refuse_future("at", q->at, now, err);
    if (rc == 0)
        rc = read_span(q, parameter, user, zone, &span, err);
    if (rc < 0)
        return rc;
    if (has_at && (span.has_since || span.has_until))
        return error_set(err, -EINVAL, "at is one moment: it cannot be given together with since and until");
    if (!has_at && !span.has_since)
        return error_set(err, -EINVAL, "since (or at) is needed: until alone names no time");
    q->kind = has_at ? PAST_MOMENT : PAST_SPAN;
    read_subject(q, parameter, user);
    return 0;
}

static int read_hot(struct past_question *q, past_parameter_fn *parameter, void *user, struct error *err)
{
    const struct parameter hot = parameter_of(PARAMETER_hot);
    char text[40];
    int rc = parameter(user, hot.name, text, sizeof text) ? parameter_check(&hot, text, err) : -ENOENT;
    if (rc == 0)
        str_to_double(str_from(text), &q->hot_celsius);
    return rc == -ENOENT ? 0 : rc;
}

static int read_price(struct past_question *q, past_parameter_fn *parameter, void *user, struct error *err)
{
    char text[40], currency[CURRENCY_SIZE];
    double price;
    if (!parameter(user, "price", text, sizeof text))
        return 0;
    if (!price_parse(str_from(text), &price, currency) || price > 1e6)
        return error_set(err, -EINVAL, "price must be a price of a kilowatt-hour, like 0.30 or 0.30EUR");
    q->price_per_kwh = price;
    if (currency[0])
        str_copy(q->currency, sizeof q->currency, str_from(currency));
    return 0;
}

int past_report_read(struct past_question *q, past_parameter_fn *parameter, void *user, struct wall now, enum moment_zone zone,
                     struct error *err)
{
    struct question_span span;
    const struct past_question before = *q;
    *q = (struct past_question){.kind = PAST_REPORT,
                                .now = now,
                                .since = {now.ms - REPORT_DAYS * 86400000LL},
                                .until = now,
                                .price_per_kwh = before.price_per_kwh,
                                .co2_g_per_kwh = before.co2_g_per_kwh,
                                .hot_celsius = REPORT_HOT_CELSIUS};
    str_copy(q->currency, sizeof q->currency, str_from(before.currency));
    str_copy(q->co2_file, sizeof q->co2_file, str_from(before.co2_file));
    int rc = read_span(q, parameter, user, zone, &span, err);
    if (rc == 0)
        rc = read_price(q, parameter, user, err);
    if (rc == 0)
        rc = read_hot(q, parameter, user, err);
    if (rc < 0)
        return rc;
    parameter(user, "currency", q->currency, sizeof q->currency);
    read_subject(q, parameter, user);
    return 0;
}
