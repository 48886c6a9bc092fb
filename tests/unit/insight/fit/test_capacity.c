/* SPDX-License-Identifier: Apache-2.0 */
#include "insight/fit/capacity.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "format/capacity_forms.h"
#include "model/finding.h"
#include "model/finding_code.h"
#include "model/severity.h"
#include "test.h"

#define MINUTE ((int64_t)60000)

static struct snapshot *box(size_t gpus)
{
    struct snapshot *s = snapshot_new(gpus);
    s->taken_at.ms = 1800000000000;
    for (size_t i = 0; i < gpus; i++) {
        s->gpus[i].index = (int)i;
        snprintf(s->gpus[i].id.uuid, sizeof s->gpus[i].id.uuid, "GPU-%zu", i);
        snprintf(s->gpus[i].id.name, sizeof s->gpus[i].id.name, "Card %zu", i);
        snprintf(s->gpus[i].id.vendor, sizeof s->gpus[i].id.vendor, "nvidia");
        s->gpus[i].mem_total_bytes = reading_ok(24 * GIB_BYTES);
        s->gpus[i].mem_free_bytes = reading_ok(10 * GIB_BYTES);
    }
    return s;
}

static const struct capacity_settings plain = {0};

static void the_reserve_is_taken_off_and_never_below_nothing(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = box(1);
    AUTO_FREE struct capacity *c = capacity_new(s, &(struct capacity_settings){.reserve_bytes = 2 * GIB_BYTES}, NULL, 0);
    assert_true(c->gpus[0].available_bytes.value == 8 * GIB_BYTES);
    AUTO_FREE struct capacity *d = capacity_new(s, &(struct capacity_settings){.reserve_bytes = 20 * GIB_BYTES}, NULL, 0);
    assert_true(d->gpus[0].available_bytes.value == 0);
    assert_int_not_equal(d->gpus[0].reclaimable_bytes.state, READING_OK); /* no guard was asked */
}

static void share_memory_of(struct snapshot *s, size_t gpu)
{
    gpu_set_property(&s->gpus[gpu], PROPERTY_memory_kind, "shared");
}

/* Graphics on the processor's die beside a GPU with memory of its own: what is placed there must be meant for it. */
static void host_memory_is_offered_once_and_not_beside_a_gpus_own(void **state)
{
    (void)state;
    struct snapshot *s = box(3);
    share_memory_of(s, 0);
    AUTO_FREE struct capacity *beside = capacity_new(s, &plain, NULL, 0);
    assert_true(beside->gpus[0].only_if_named && beside->gpus[0].shared && beside->gpus[0].usable);
    assert_false(beside->gpus[1].only_if_named || beside->gpus[1].shared);
    share_memory_of(s, 1);
    share_memory_of(s, 2);
    AUTO_FREE struct capacity *alone = capacity_new(s, &plain, NULL, 0);
    assert_false(alone->gpus[0].only_if_named);
    assert_true(alone->gpus[1].only_if_named && alone->gpus[2].only_if_named); /* the same pool */
    assert_true(snapshot_counts_memory(s, &s->gpus[0]) && !snapshot_counts_memory(s, &s->gpus[2]));
    snapshot_unref(s);
}

static void what_can_be_reclaimed_is_what_can_be_evicted(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = box(2);
    const struct capacity_hold holds[] = {{"a", 0, 3 * GIB_BYTES, true}, {"b", 0, 4 * GIB_BYTES, false}, {"c", 1, GIB_BYTES, true}};
    AUTO_FREE struct capacity *c = capacity_new(s, &plain, holds, ARRAY_LEN(holds));
    assert_true(c->gpus[0].reclaimable_bytes.value == 3 * GIB_BYTES);
    assert_true(c->gpus[1].reclaimable_bytes.value == GIB_BYTES);
    AUTO_FREE struct capacity *none = capacity_new(s, &plain, holds, 0);
    assert_int_equal(none->gpus[0].reclaimable_bytes.state, READING_OK);
    assert_int_equal(none->gpus[0].reclaimable_bytes.value, 0);
}

static void a_gpu_whose_findings_forbid_work_is_not_offered(void **state)
{
    (void)state;
    struct snapshot *s = box(3);
    s->verdict = verdict_new(3, 2);
    assert_non_null(s->verdict);
    s->verdict->findings[s->verdict->count++] = (struct finding){
        .code = FINDING_FAN_STOPPED, .severity = SEVERITY_CRITICAL, .gpu_index = 1, .headline = "GPU 1: its fan has stopped"};
    s->verdict->findings[s->verdict->count++] =
        (struct finding){.code = FINDING_LOUD, .severity = SEVERITY_WARNING, .gpu_index = 2, .headline = "GPU 2 is loud"};
    AUTO_FREE struct capacity *c = capacity_new(s, &plain, NULL, 0);
    assert_true(c->gpus[0].usable);
    assert_false(c->gpus[1].usable);
    assert_string_equal(c->gpus[1].problem, "its fan has stopped");
    assert_true(c->gpus[2].usable);
    snapshot_unref(s);
}

static void what_the_driver_does_not_tell_stays_absent(void **state)
{
    (void)state;
    struct snapshot *s = box(3);
    s->gpus[0].mem_free_bytes = reading_absent(READING_UNSUPPORTED);
    gpu_mark_state(&s->gpus[1], GPU_ASLEEP, "");
    gpu_mark_state(&s->gpus[2], GPU_LOST, "GPU is lost");
    s->gpus[1].mem_free_bytes = reading_absent(READING_ASLEEP);
    AUTO_FREE struct capacity *c = capacity_new(s, &plain, NULL, 0);
    assert_true(c->gpus[0].usable && c->gpus[1].usable && !c->gpus[2].usable);
    assert_int_equal(c->gpus[0].available_bytes.state, READING_UNSUPPORTED);
    assert_string_equal(c->gpus[0].problem, "free memory unknown: not reported by this GPU or driver");
    assert_string_equal(c->gpus[1].problem, "it is asleep, and asking for its memory would wake it");
    assert_string_equal(c->gpus[2].problem, "GPU is lost");
    snapshot_unref(s);
}

static void a_divided_card_is_used_by_its_instances(void **state)
{
    (void)state;
    struct snapshot *s = box(1);
    struct gpu *instance = gpu_add_instance(&s->gpus[0]);
    instance->mem_total_bytes = reading_ok(12 * GIB_BYTES);
    instance->mem_free_bytes = reading_ok(11 * GIB_BYTES);
    snprintf(instance->id.uuid, sizeof instance->id.uuid, "MIG-7");
    AUTO_FREE struct capacity *c = capacity_new(s, &plain, NULL, 0);
    assert_int_equal(c->gpu_count, 2);
    assert_false(c->gpus[0].usable);
    assert_true(c->gpus[1].usable && c->gpus[1].instance == 0 && c->gpus[1].index == 0);
    AUTO_FREE struct placement *p = placement_find(c, &(struct placement_request){.bytes = GIB_BYTES, .only = -1});
    assert_int_equal(p->copies[0].shares[0].gpu, 1);
    AUTO_BUF struct buf env = BUF(1024);
    assert_true(placement_env(&env, c, &p->copies[0]));
    assert_string_equal(env.at, "CUDA_VISIBLE_DEVICES=MIG-7\n");
    gpu_mark_state(&s->gpus[0], GPU_LOST, "GPU is lost"); /* and with it all that it is divided into */
    AUTO_FREE struct capacity *lost = capacity_new(s, &plain, NULL, 0);
    assert_false(lost->gpus[1].usable);
    assert_string_equal(lost->gpus[1].problem, "GPU is lost");
    snapshot_unref(s);
}

/* Two compute instances of one GPU instance, and a third of another one. */
static void memory_of_a_gpu_instance_is_offered_once(void **state)
{
    (void)state;
    struct snapshot *s = box(1);
    for (int i = 0; i < 3; i++) {
        struct gpu *instance = gpu_add_instance(&s->gpus[0]);
        instance->mem_total_bytes = reading_ok(12 * GIB_BYTES);
        instance->mem_free_bytes = reading_ok(11 * GIB_BYTES);
        instance->gpu_instance_id = reading_ok(i < 2 ? 1 : 2);
    }
    AUTO_FREE struct capacity *c = capacity_new(s, &plain, NULL, 0);
    snapshot_unref(s);
    int64_t offered = 0;
    for (size_t i = 0; i < c->gpu_count; i++)
        offered += c->gpus[i].usable ? c->gpus[i].available_bytes.value : 0;
    assert_true(offered == 22 * GIB_BYTES);
    assert_false(c->gpus[2].usable);
    assert_string_equal(c->gpus[2].problem, "it shares the memory of instance 0");
}

static void programs_are_told_by_uuid_or_by_position_of_the_maker(void **state)
{
    (void)state;
    struct snapshot *s = box(4);
    snprintf(s->gpus[2].id.vendor, sizeof s->gpus[2].id.vendor, "amd");
    snprintf(s->gpus[3].id.vendor, sizeof s->gpus[3].id.vendor, "amd");
    s->gpus[1].id.uuid[0] = '\0';
    AUTO_FREE struct capacity *c = capacity_new(s, &plain, NULL, 0);
    static const struct {
        size_t gpus[2];
        const char *text;
    } cases[] = {
        {{0, 0}, "CUDA_VISIBLE_DEVICES=GPU-0,GPU-0\n"},
        {{0, 1}, "CUDA_DEVICE_ORDER=PCI_BUS_ID\nCUDA_VISIBLE_DEVICES=0,1\n"},
        {{2, 3}, "HIP_VISIBLE_DEVICES=0,1\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF struct buf env = BUF(1024);
        struct placement_copy copy = {2, {{.gpu = cases[i].gpus[0]}, {.gpu = cases[i].gpus[1]}}};
        assert_true(placement_env(&env, c, &copy));
        assert_string_equal(env.at, cases[i].text);
    }
    snapshot_unref(s);
}

static void an_environment_of_two_variables_is_whole_in_json(void **state)
{
    (void)state;
    struct snapshot *s = box(2);
    s->gpus[1].id.uuid[0] = '\0';
    struct placement_request request = {.bytes = GIB_BYTES, .only = 1};
    AUTO_FREE struct capacity *c = capacity_new(s, &plain, NULL, 0);
    AUTO_FREE struct placement *p = placement_find(c, &request);
    AUTO_BUF struct buf text = BUF(1 << 16);
    json_placement(JSON_LINE(&text), c, &request, p, &(struct fit_subject){.context_wanted = -1});
    assert_non_null(strstr(text.at, "\"env\":{\"CUDA_DEVICE_ORDER\":\"PCI_BUS_ID\",\"CUDA_VISIBLE_DEVICES\":\"1\"}"));
    snapshot_unref(s);
}

/* ---- the course ---- */

static void at(struct capacity_courses *c, const struct snapshot *s, int64_t minutes_ago, int64_t gib)
{
    struct wall when = {s->taken_at.ms - minutes_ago * MINUTE};
    assert_true(courses_add(c, &s->gpus[0].id, when, gib * GIB_BYTES));
}

static void the_least_of_an_hour_and_a_day_are_kept_apart(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = box(1);
    struct capacity_courses *courses = courses_new();
    AUTO_FREE struct capacity *c = capacity_new(s, &plain, NULL, 0);
    courses_fill(courses, s->taken_at, c);
    assert_int_not_equal(c->gpus[0].least_hour_bytes.state, READING_OK); /* not watched: not 0 */
    at(courses, s, 1441, 1);                                             /* over a day ago */
    at(courses, s, 600, 3);
    at(courses, s, 59, 7);
    at(courses, s, 59, 9); /* in the same minute: the least counts */
    at(courses, s, 5, 9);
    at(courses, s, 5, 8);
    courses_add_snapshot(courses, s);
    courses_fill(courses, s->taken_at, c);
    assert_true(c->gpus[0].least_hour_bytes.value == 7 * GIB_BYTES);
    assert_true(c->gpus[0].least_day_bytes.value == 3 * GIB_BYTES);
    assert_int_equal(c->gpus[0].watched_ms, 4 * MINUTE);
    struct course_point points[COURSE_POINTS_MAX];
    size_t count = courses_points(courses, &s->gpus[0].id, s->taken_at, points);
    assert_true(count >= 3 && points[0].least_bytes == 3 * GIB_BYTES && points[0].at.ms < points[1].at.ms);
    courses_forget(courses);
    assert_int_equal(courses_points(courses, &s->gpus[0].id, s->taken_at, points), 0);
    courses_free(courses);
}

static void yesterdays_minute_gives_way_and_late_ones_do_not_push_it_out(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = box(1);
    struct capacity_courses *courses = courses_new();
    AUTO_FREE struct capacity *c = capacity_new(s, &plain, NULL, 0);
    at(courses, s, 1440, 1);
    at(courses, s, 0, 5); /* the same place in the ring */
    at(courses, s, 1440, 2);
    courses_fill(courses, s->taken_at, c);
    assert_true(c->gpus[0].least_day_bytes.value == 5 * GIB_BYTES);
    courses_free(courses);
}

static void what_the_daemon_says_is_understood_by_the_command(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = box(2);
    const struct capacity_hold holds[] = {{"ollama", 1, 3 * GIB_BYTES + 12345, true}};
    AUTO_FREE struct capacity *c = capacity_new(s, &(struct capacity_settings){.reserve_bytes = GIB_BYTES}, holds, 1);
    struct capacity_courses *courses = courses_new();
    courses_add_snapshot(courses, s);
    courses_fill(courses, s->taken_at, c);
    AUTO_BUF struct buf text = BUF(1 << 20);
    struct json_writer j = JSON_WRITER(&text);
    json_capacity(&j, s, c, courses, ALL_GPUS);
    AUTO_FREE struct capacity *back = capacity_from_json(buf_view(&text));
    assert_non_null(back);
    assert_int_equal(back->gpu_count, 2);
    assert_true(back->guard_known);
    assert_int_equal(back->hold_count, 1);
    assert_string_equal(back->holds[0].worker, "ollama");
    assert_true(back->holds[0].bytes == 3 * GIB_BYTES + 12345 && back->holds[0].gpu_index == 1 && back->holds[0].evictable);
    assert_true(back->gpus[1].available_bytes.value == 9 * GIB_BYTES && back->gpus[1].reserve_bytes == GIB_BYTES);
    assert_true(back->gpus[1].least_day_bytes.value == 10 * GIB_BYTES);
    assert_null(capacity_from_json(STR("{}")));
    assert_null(capacity_from_json(STR("nonsense")));
    AUTO_FREE struct capacity *odd = capacity_from_json(STR("{\"gpus\": [{\"available_mb\": -5, \"memory_free_mb\": \"x\"}, 7]}"));
    assert_int_not_equal(odd->gpus[0].available_bytes.state, READING_OK);
    assert_false(odd->gpus[1].usable);
    courses_free(courses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_reserve_is_taken_off_and_never_below_nothing),
        TEST(host_memory_is_offered_once_and_not_beside_a_gpus_own),
        TEST(what_can_be_reclaimed_is_what_can_be_evicted),
        TEST(a_gpu_whose_findings_forbid_work_is_not_offered),
        TEST(what_the_driver_does_not_tell_stays_absent),
        TEST(a_divided_card_is_used_by_its_instances),
        TEST(an_environment_of_two_variables_is_whole_in_json),
        TEST(memory_of_a_gpu_instance_is_offered_once),
        TEST(programs_are_told_by_uuid_or_by_position_of_the_maker),
        TEST(the_least_of_an_hour_and_a_day_are_kept_apart),
        TEST(yesterdays_minute_gives_way_and_late_ones_do_not_push_it_out),
        TEST(what_the_daemon_says_is_understood_by_the_command),
    };
    return RUN_TESTS(tests);
}
