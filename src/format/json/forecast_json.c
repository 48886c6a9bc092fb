/* SPDX-License-Identifier: Apache-2.0
 * Forecasts as JSON, written and parsed.
 */
#include "format/forecast.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/units.h"

/* The answer: the record and its own context. */
struct told_forecast {
    struct wall at;
    struct forecast_basis basis;
    bool has_store;
    struct forecast_store store;
    const struct forecast *of;
    int only;
};

static const char *store_limit_name(bool of_disk)
{
    return of_disk ? "disk" : "cap";
}
ANSWER_NAMES(verdicts, enum forecast_verdict, forecast_verdict_name, FORECAST_UNKNOWN, FORECAST_REACHED);
ANSWER_NAMES(store_limits, bool, store_limit_name, 0, 1);

/* ---- when ---- */

ANSWER_TEST(is_expected, struct forecast_when, of->verdict == FORECAST_EXPECTED);

ANSWER_TEST(has_time, struct forecast_when, is_expected(of) || of->verdict == FORECAST_REACHED);

static bool make_at(const struct answer_at *at, union answer_value *ret)
{
    const struct forecast_when *w = at->record;
    const struct told_forecast *told = at->context;
    ret->at.ms = told->at.ms + (is_expected(w) ? (int64_t)(w->likely_s * 1000) : 0);
    return has_time(w);
}

ANSWER_TABLE(when_answer, struct forecast_when)
{
    FIELD(NAME, "verdict", verdict,
          "unknown: watched for too short a time, or it can't be read; no_trend: nothing points there; never: it settles before; "
          "expected: as things go; reached: it is there",
          NAMES(verdicts));
    FIELD(TEXT, "reason", reason, "Why, in words");
    MADE(MOMENT, "at", make_at, NULL, OR_NULL);
    FIELD(NUMBER, "seconds", likely_s, "From now; 0 when it is reached", WHEN(has_time), TENTHS); /* no forecast is more precise */
    FIELD(NUMBER, "earliest_seconds", earliest_s, NULL, WHEN(is_expected), TENTHS);
    FIELD(NUMBER, "latest_seconds", latest_s, "null with verdict expected: it may also settle before", WHEN(is_expected), TENTHS,
          .none = HUGE_VAL);
    FIELD(NUMBER, "basis_seconds", basis_s, "Length of the stretch that it was seen on", OR_NULL, TENTHS);
}

/* ---- what ---- */

ANSWER_TEST(memory_grows, struct forecast_vram, of->bytes_per_s > 0);

ANSWER_TABLE(process_answer, struct forecast_vram)
{
    FIELD(INT, "pid", pid, NULL);
    FIELD(TEXT, "name", name, NULL, OR_NULL);
    FIELD(TEXT, "short_name", words, "What people call it", OR_NULL);
    FIELD(TEXT, "user", user, NULL, OR_NULL);
}

ANSWER_TABLE(memory_answer, struct forecast_vram, .name = "ForecastMemory")
{
    FIELD(KEYS, NULL, when, NULL, FIELDS(when_answer));
    FIELD(READING, "used_mb", used_bytes, NULL, SCALE(PER_MIB), WHOLE);
    FIELD(READING, "room_mb", room_bytes, "What processes can have in all", SCALE(PER_MIB), WHOLE);
    FIELD(NUMBER, "growth_mb_per_minute", bytes_per_s, NULL, WHEN(memory_grows), SCALE(60 * PER_MIB), TENTHS);
    PART("process", process_answer, "The one that grows; null: none, several, or not known", PRESENT(pid));
}

ANSWER_TABLE(heat_answer, struct forecast_heat, .name = "ForecastTemperature")
{
    FIELD(KEYS, NULL, when, NULL, FIELDS(when_answer));
    FIELD(READING, "temperature_celsius", now_mdegc, NULL, SCALE(1e-3));
    FIELD(READING, "limit_celsius", limit_mdegc, "Temperature at which the GPU starts throttling", SCALE(1e-3));
    FIELD(NUMBER, "final_celsius", final_c, "Temperature at which it settles under its present load, if that is known well",
          NONE(NAN), TENTHS);
    FIELD(NUMBER, "time_constant_seconds", tau_s, NULL, NONE(NAN), TENTHS);
}

ANSWER_TEST(store_grows, struct forecast_store, of->bytes_per_s > 0);

ANSWER_TABLE(store_answer, struct forecast_store, .name = "ForecastStore")
{
    FIELD(KEYS, NULL, when, NULL, FIELDS(when_answer));
    FIELD(NAME, "of", of_disk,
          "What it is about: the size limit of the history database, or the disk under it if that is full first",
          NAMES(store_limits));
    FIELD(READING, "used_bytes", used_bytes, NULL, WHOLE);
    FIELD(READING, "cap_bytes", cap_bytes, "0: none is set", WHOLE);
    FIELD(READING, "disk_free_bytes", disk_free_bytes, NULL, WHOLE);
    FIELD(NUMBER, "growth_bytes_per_day", bytes_per_s, NULL, WHEN(store_grows), SCALE(86400), WHOLE);
}

ANSWER_TABLE(gpu_answer, struct forecast_gpu)
{
    FIELD(INT, "gpu_index", gpu_index, NULL, COUNTS);
    FIELD(TEXT, "gpu_name", id.name, NULL, OR_NULL, COUNTS);
    FIELD(TEXT, "gpu_uuid", id.uuid, NULL, OR_NULL);
    FIELD(OBJECT, "memory", vram, NULL, FIELDS(memory_answer), COUNTS);
    FIELD(OBJECT, "temperature", heat, NULL, FIELDS(heat_answer), COUNTS);
}

/* ---- the answer ---- */

static bool make_sentence(const struct answer_at *at, union answer_value *ret)
{
    const struct told_forecast *told = at->record;
    forecast_answer(told->of, told->only, ret->text, sizeof ret->text);
    return true;
}

static const void *next_gpu(const struct answer_at *at, struct answer_step *step)
{
    const struct told_forecast *told = at->record;
    if (told->only != ALL_GPUS && step->at == 0)
        step->at = (size_t)told->only;
    else if (told->only != ALL_GPUS)
        return NULL;
    return step->at < told->of->count ? &told->of->gpus[step->at++] : NULL;
}

SHARED_ANSWER_TABLE(forecast_answers, struct told_forecast, .name = "Forecast")
{
    FIELD(MOMENT, "timestamp", at, NULL, OR_NULL, COUNTS);
    FIELD(WORD, "host", basis.host, NULL, OR_NULL);
    MADE(TEXT, "answer", make_sentence, "The soonest of all in a sentence, or that nothing points anywhere", COUNTS, FOREIGN);
    FIELD(BOOL, "simulated", basis.simulated, NULL, COUNTS);
    FIELD(BOOL, "remembered", basis.remembered, "false: from a short look, without a daemon");
    FIELD(NUMBER, "watched_seconds", basis.watched_s, NULL, TENTHS, COUNTS);
    EACH(OBJECT, "gpus", next_gpu, NULL, FIELDS(gpu_answer));
    FIELD(OBJECT, "store", store, NULL, FIELDS(store_answer), PRESENT(has_store), COUNTS);
}

void json_forecast(struct json_writer *j, const struct forecast *f, const struct forecast_basis *basis, int only)
{
    struct told_forecast told = {.at = f->at, .basis = *basis, .has_store = f->has_store, .store = f->store, .of = f, .only = only};
    answer_write(j, &forecast_answers, &told, &told);
}

struct forecast *forecast_from_json(struct str text, struct forecast_basis *ret)
{
    AUTO_JSON json_t *json = json_loadb(text.at, text.len, 0, NULL);
    const json_t *gpus = json_object_get(json, "gpus");
    size_t count = MIN_OF(json_array_size(gpus), (size_t)GPU_MAX);
    struct forecast *f = json_is_array(gpus) ? calloc(1, sizeof *f + count * sizeof *f->gpus) : NULL;
    struct told_forecast told = {0};
    if (f) {
        answer_read(&forecast_answers, json, &told, NULL);
        f->at = told.at;
        f->has_store = told.has_store;
        f->store = told.store;
        f->count = count;
        for (size_t i = 0; i < count; i++)
            answer_read(&gpu_answer, json_array_get(gpus, i), &f->gpus[i], NULL);
        *ret = told.basis;
    }
    return f;
}
