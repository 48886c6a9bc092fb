/* SPDX-License-Identifier: Apache-2.0
 * What a forecast says while it watches the recordings of a real card (tests/gpu/record_courses.py), against what was done to it.
 */
#include "test.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "insight/forecast/forecast.h"
#include "source/replay/reader.h"

struct watched {
    size_t samples, vram_alarms, heat_alarms, named, held;
    double first_alarm_s, full_s; /* since 1970; 0: none */
    enum forecast_verdict last_vram, last_heat;
};

static void path_of(const char *name, const char *ending, char path[512])
{
    const char *root = getenv("WHIRR_SOURCE_ROOT");
    snprintf(path, 512, "%s/tests/golden/forecast/%s%s", root ? root : ".", name, ending);
}

/* When it was full is read off the recording itself, first. */
static double full_at(struct replay_reader *r)
{
    const struct snapshot *s;
    struct error err = {0};
    double found = 0;
    while (replay_reader_next(r, &s, &err) == 1) {
        const struct gpu *g = &s->gpus[0];
        double used = (double)reading_or(g->mem_used_bytes, 0), room = used + (double)reading_or(g->mem_free_bytes, 0);
        if (!found && room > 0 && used >= FORECAST_FULL_SHARE * room)
            found = (double)s->taken_at.ms / 1000;
        snapshot_unref(s);
    }
    assert_int_equal(replay_reader_rewind(r, &err), 0);
    return found;
}

static void watch(const char *name, int32_t leak_pid, struct watched *w)
{
    char path[512];
    struct replay_reader *r;
    struct error err = {0};
    path_of(name, ".whirr", path);
    if (replay_reader_open(path, &r, &err) < 0)
        fail_msg("%s", err.text);
    *w = (struct watched){.full_s = full_at(r)};
    struct forecast_memory *memory = forecast_memory_new();
    const struct snapshot *s;
    while (replay_reader_next(r, &s, &err) == 1) {
        assert_true(forecast_see(memory, s));
        struct forecast *f = forecast_make(memory, s);
        const struct forecast_vram *v = &f->gpus[0].vram;
        double now = (double)s->taken_at.ms / 1000;
        w->samples++;
        w->last_vram = v->when.verdict;
        w->last_heat = f->gpus[0].heat.when.verdict;
        w->heat_alarms += w->last_heat == FORECAST_EXPECTED || w->last_heat == FORECAST_REACHED;
        if (v->when.verdict == FORECAST_EXPECTED) {
            w->first_alarm_s = w->first_alarm_s > 0 ? w->first_alarm_s : now;
            w->vram_alarms++;
            w->named += v->pid == leak_pid;
            double truth = w->full_s - now;
            w->held += truth >= v->when.earliest_s - 1 && truth <= v->when.latest_s + 1;
        }
        forecast_free(f);
        snapshot_unref(s);
    }
    struct replay_reader_facts facts = replay_reader_facts(r);
    assert_int_equal(facts.damaged, 0);
    assert_true(facts.samples > 50);
    forecast_memory_free(memory);
    replay_reader_close(r);
}

static json_t *truth_of(const char *name)
{
    char path[512];
    path_of(name, ".json", path);
    json_t *truth = json_load_file(path, 0, NULL);
    if (!truth)
        fail_msg("cannot read '%s'", path);
    return truth;
}

static void leaks_are_foreseen_and_their_process_is_named(void **state)
{
    (void)state;
    static const char *const names[] = {"leak", "leak-of-two"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        json_t *truth = truth_of(names[i]);
        double began = json_number_value(json_object_get(truth, "leak_began"));
        double ended = json_number_value(json_object_get(truth, "leak_ended"));
        struct watched w;
        watch(names[i], (int32_t)json_integer_value(json_object_get(truth, "leak_pid")), &w);
        json_decref(truth);
        assert_true(w.full_s > began && w.full_s <= ended + 1); /* the recording shows what was done */
        assert_true(w.first_alarm_s >= began && w.first_alarm_s < began + 15);
        assert_true(w.named == w.vram_alarms);
        assert_true(w.held >= 0.8 * (double)w.vram_alarms);
        assert_int_equal(w.heat_alarms, 0);
    }
}

static void loads_heat_and_training_raise_no_alarm(void **state)
{
    (void)state;
    static const char *const names[] = {"sawtooth", "heat", "training"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct watched w;
        watch(names[i], 0, &w);
        assert_int_equal(w.vram_alarms, 0);
        assert_int_equal(w.heat_alarms, 0);
        assert_true(w.full_s <= 0);
    }
}

static void a_settled_card_is_said_to_be(void **state)
{
    (void)state;
    struct watched w;
    watch("heat", 0, &w); /* ends with half a minute of rest */
    assert_int_equal(w.last_vram, FORECAST_NO_TREND);
    assert_int_equal(w.last_heat, FORECAST_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(leaks_are_foreseen_and_their_process_is_named),
        TEST(loads_heat_and_training_raise_no_alarm),
        TEST(a_settled_card_is_said_to_be),
    };
    return RUN_TESTS(tests);
}
