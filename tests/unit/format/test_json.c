/* SPDX-License-Identifier: Apache-2.0 */
#include "format/json/json.h"

#include <math.h>

#include "format/table/table.h"
#include "insight/view/why.h"
#include "model/finding.h"
#include "sample.h"

static json_t *at(json_t *root, const char *key)
{
    json_t *value = json_object_get(root, key);
    if (!value)
        fail_msg("key '%s' is missing", key);
    return value;
}

static json_t *item(json_t *root, const char *key, size_t i)
{
    json_t *value = json_array_get(at(root, key), i);
    assert_non_null(value);
    return value;
}

static const char *text(json_t *root, const char *key)
{
    return json_string_value(at(root, key));
}

static void assert_number(json_t *root, const char *key, double expected)
{
    json_t *value = at(root, key);
    if (!json_is_number(value) || fabs(json_number_value(value) - expected) > 1e-5)
        fail_msg("%s is not %g", key, expected);
}

static void every_metric_has_its_key_and_every_null_its_reason(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = sample_machine();
    SAMPLE_JSON(root, json_metrics(j, s, ALL_GPUS));
    assert_int_equal(json_array_size(at(root, "gpus")), 4);
    for (size_t g = 0; g < 4; g++) {
        json_t *gpu = item(root, "gpus", g), *absent = at(gpu, "absent");
        for (size_t i = 0; i < METRIC_COUNT; i++)
            at(gpu, metric_table[i].json);
        for (size_t i = 0; i < PROPERTY_COUNT; i++)
            at(gpu, property_table[i].json);
        const char *key;
        json_t *value;
        json_object_foreach(gpu, key, value)
        {
            bool explained = json_object_get(absent, key) != NULL;
            bool may_be_none = strcmp(key, "error_message") == 0 || strcmp(key, "source") == 0;
            if (!may_be_none && json_is_null(value) != explained)
                fail_msg("GPU %zu: %s", g, key);
        }
    }
    json_decref(root);
}

static void values_are_in_the_units_of_their_names(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = sample_machine();
    SAMPLE_JSON(root, json_metrics(j, s, 0));
    assert_int_equal(json_array_size(at(root, "gpus")), 1);
    assert_string_equal(text(root, "timestamp"), "2026-11-15T01:02:03.456Z");
    json_t *gpu = item(root, "gpus", 0);
    assert_number(gpu, "utilization_percent", 78.1);
    assert_number(gpu, "memory_used_mb", 18000);
    assert_number(gpu, "temperature_celsius", 71);
    assert_number(gpu, "power_watts", 280.1);
    assert_number(gpu, "clock_memory_mhz", 10501);
    assert_number(gpu, "encoder_percent", 0);
    assert_string_equal(text(gpu, "performance_state"), "P2");
    assert_int_equal(json_array_size(at(gpu, "throttle_reasons")), 2);
    assert_string_equal(json_string_value(item(gpu, "throttle_reasons", 0)), "power cap");
    assert_string_equal(text(at(gpu, "absent"), "pcie_rx_bytes_per_second"), "pending");
    assert_string_equal(text(at(gpu, "absent"), "fan_rpm"), "unsupported");
    assert_string_equal(text(at(gpu, "absent"), "energy_joules"), "unread");

    json_t *p = item(gpu, "processes", 0);
    assert_int_equal(json_integer_value(at(p, "pid")), 4242);
    assert_string_equal(text(p, "started_at"), "2023-11-14T22:13:20.000Z");
    assert_string_equal(text(p, "type"), "compute");
    assert_string_equal(text(p, "power_basis"), "utilization");
    assert_true(json_is_null(at(p, "cpu_percent")));
    assert_string_equal(text(at(p, "absent"), "cpu_percent"), "pending");
    assert_true(json_is_null(at(p, "container")));
    json_decref(root);
}

static void used_free_and_reserve_add_up_in_the_text_too(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = sample_machine();
    ((struct snapshot *)s)->gpus[0].mem_used_bytes.value += 4096;
    ((struct snapshot *)s)->gpus[0].mem_free_bytes.value -= 4096;
    SAMPLE_JSON(root, json_metrics(j, s, 0));
    json_t *gpu = item(root, "gpus", 0);
    double sum = json_number_value(at(gpu, "memory_used_mb")) + json_number_value(at(gpu, "memory_free_mb")) +
                 json_number_value(at(gpu, "memory_reserved_mb"));
    assert_true(fabs(sum - json_number_value(at(gpu, "memory_total_mb"))) < 1e-3);
    json_decref(root);
}

static void an_unknown_process_list_is_null_not_empty(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = sample_machine();
    SAMPLE_JSON(root, json_metrics(j, s, ALL_GPUS));
    json_t *denied = item(root, "gpus", 3);
    assert_true(json_is_null(at(denied, "processes")));
    assert_string_equal(text(at(denied, "absent"), "processes"), "denied");
    assert_string_equal(text(at(item(root, "gpus", 1), "absent"), "processes"), "asleep");
    json_decref(root);
}

static void instances_have_the_same_keys_and_stay_under_their_card(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = sample_machine();
    SAMPLE_JSON(root, json_metrics(j, s, 3));
    json_t *card = item(root, "gpus", 0), *instance = item(card, "instances", 0), *value;
    const char *key;
    json_object_foreach(card, key, value) at(instance, key);
    assert_string_equal(text(instance, "profile"), "1g.10gb");
    assert_string_equal(text(instance, "uuid"), "MIG-77");
    assert_null(json_object_get(card, "profile"));
    assert_true(json_is_true(at(card, "simulated")));
    json_decref(root);
}

static void devices_stay_listed_when_they_are_lost(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = sample_machine();
    SAMPLE_JSON(root, json_devices(j, s, ALL_GPUS));
    assert_int_equal(json_integer_value(at(root, "count")), 4);
    json_t *busy = item(root, "devices", 0), *lost = item(root, "devices", 2);
    assert_true(json_is_integer(at(busy, "utilization_percent")));
    assert_int_equal(json_integer_value(at(busy, "utilization_percent")), 78);
    assert_int_equal(json_integer_value(at(busy, "total_memory_mb")), 24576);
    assert_true(json_is_true(at(busy, "is_available")));
    assert_true(json_is_null(at(busy, "error_message")));
    assert_true(json_is_false(at(lost, "is_available")));
    assert_string_equal(text(lost, "error_message"), "GPU is lost");
    assert_true(json_is_null(at(lost, "temperature_c")));
    json_decref(root);
}

static void no_gpu_is_an_empty_list_and_a_reason(void **state)
{
    (void)state;
    struct snapshot *s = snapshot_new(0);
    s->source_count = 1;
    s->sources[0] = (struct source_status){
        .name = "nvml", .names_driver = true, .message = "libnvidia-ml.so.1: cannot open shared object file"};
    {
        SAMPLE_JSON(devices, json_devices(j, s, ALL_GPUS));
        assert_string_equal(devices_text.at, "{\"devices\":[],\"count\":0}");
        json_decref(devices);
    }
    {
        SAMPLE_JSON(driver, json_driver(j, s));
        assert_true(json_is_null(at(driver, "driver_version")));
        assert_true(json_is_false(at(driver, "cuda_available")));
        assert_string_equal(text(driver, "error_message"), "libnvidia-ml.so.1: cannot open shared object file");
        json_decref(driver);
    }
    {
        SAMPLE_JSON(resources, json_resources(j, s, &s->host));
        assert_true(json_is_false(at(resources, "gpu_available")));
        assert_true(json_is_real(at(resources, "gpu_vram_gb")));
        assert_true(json_is_null(at(resources, "gpu_free_vram_gb")));
        assert_true(json_is_null(at(resources, "gpu_name")));
        json_decref(resources);
    }
    {
        SAMPLE_JSON(summary, json_summary(j, s, NULL));
        assert_true(json_is_false(at(summary, "available")));
        assert_true(json_is_null(at(at(summary, "totals"), "power_watts")));
        assert_int_equal(json_integer_value(at(at(summary, "totals"), "process_count")), 0);
        json_decref(summary);
    }
    snapshot_unref(s);
}

/* A program with most of the memory before a desktop that draws a little; one at work before both. */
static void the_top_process_is_the_one_that_matters(void **state)
{
    (void)state;
    static const struct {
        int64_t share, mib;
    } lists[][3] = {{{40, 300}, {0, 18200}, {90, 100}}, {{40, 300}, {500, 2000}, {0, 18200}}, {{20, 300}, {30, 300}, {10, 300}}};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct snapshot *s = snapshot_new(1);
        for (int k = 0; k < 3; k++) {
            struct process *p = gpu_add_process(&s->gpus[0], 10 + k);
            p->util_permille = reading_ok(lists[i][k].share);
            p->mem_bytes = reading_ok(lists[i][k].mib << 20);
        }
        const struct process *sorted[3];
        process_biggest_first(&s->gpus[0], sorted);
        SAMPLE_JSON(root, json_summary(j, s, &(struct why){.answer = "because"}));
        assert_int_equal(json_integer_value(at(at(item(root, "gpus", 0), "top_process"), "pid")), 11);
        assert_int_equal(sorted[0]->pid, 11);
        json_decref(root);
        snapshot_unref(s);
    }
}

static void the_summary_adds_up_what_is_known(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = sample_machine();
    SAMPLE_JSON(root, json_summary(j, s, &(struct why){.answer = "because"}));
    assert_string_equal(text(root, "severity"), "info");
    json_t *totals = at(root, "totals"), *gpu = item(root, "gpus", 0);
    assert_number(totals, "memory_used_mb", 19024);
    assert_number(totals, "power_watts", 280.1);
    assert_number(totals, "process_count", 2);
    assert_string_equal(text(at(gpu, "top_process"), "name"), "python3");
    assert_true(json_is_null(at(item(root, "gpus", 3), "process_count")));
    assert_true(json_is_null(at(item(root, "gpus", 1), "top_process")));
    assert_string_equal(text(root, "answer"), "because");
    assert_int_equal(json_array_size(at(root, "sources")), 1);
    json_decref(root);
}

static void stats_rows_are_floats_and_carry_their_time(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = sample_machine();
    SAMPLE_JSON(root, json_stats(j, s, ALL_GPUS));
    json_t *row = item(root, "gpus", 0);
    const char *floats[] = {"temperature_celsius",     "power_watts",
                            "memory_used_mb",          "memory_total_mb",
                            "gpu_utilization_percent", "memory_utilization_percent"};
    for (size_t i = 0; i < ARRAY_LEN(floats); i++)
        assert_true(json_is_real(at(row, floats[i])));
    assert_string_equal(text(row, "recorded_at"), "2026-11-15T01:02:03.456Z");
    /* The one of which nothing can be read has none. */
    assert_int_equal(json_integer_value(at(root, "count")), 3);
    assert_int_equal(json_array_size(at(root, "gpus")), 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_not_equal(json_integer_value(at(item(root, "gpus", i), "gpu_index")), 2);
    json_decref(root);
}

static void resources_speak_of_the_gpu_with_most_room(void **state)
{
    (void)state;
    struct snapshot *s = sample_machine();
    s->gpus[3].mem_free_bytes = reading_ok(70 * GIB_BYTES);
    SAMPLE_JSON(root, json_resources(j, s, &s->host));
    assert_string_equal(text(root, "gpu_name"), "NVIDIA H100");
    assert_number(root, "gpu_vram_gb", 70);
    assert_number(root, "memory_percent", 25);
    assert_number(root, "available_memory_gb", 48);
    assert_true(json_is_null(at(root, "cpu_percent")));
    assert_int_equal(json_integer_value(at(root, "gpu_count")), 4);
    json_decref(root);
    snapshot_unref(s);
}

static void an_explanation_is_ranked_causes_with_evidence(void **state)
{
    (void)state;
    AUTO_SNAPSHOT const struct snapshot *s = sample_machine();
    struct why *why = why_explain(s, NULL);
    assert_non_null(why);
    SAMPLE_JSON(root, json_why(j, s, why, ALL_GPUS));
    assert_string_equal(text(root, "answer"), why->answer);
    assert_int_equal(json_array_size(at(root, "gpus")), 4);
    json_t *gpu = item(root, "gpus", 0), *cause = item(gpu, "causes", 0);
    assert_int_equal(json_integer_value(at(gpu, "gpu_index")), 0);
    assert_true(json_is_array(at(gpu, "suggestions")));
    assert_string_equal(text(cause, "code"), finding_code_name(why->gpus[0].causes[0].code));
    assert_number(cause, "confidence", why->gpus[0].causes[0].confidence);
    assert_true(json_is_array(at(cause, "evidence")));
    at(cause, "pid");
    at(cause, "process");
    json_decref(root);
    why_free(why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_metric_has_its_key_and_every_null_its_reason),
        TEST(values_are_in_the_units_of_their_names),
        TEST(used_free_and_reserve_add_up_in_the_text_too),
        TEST(an_unknown_process_list_is_null_not_empty),
        TEST(instances_have_the_same_keys_and_stay_under_their_card),
        TEST(devices_stay_listed_when_they_are_lost),
        TEST(no_gpu_is_an_empty_list_and_a_reason),
        TEST(the_top_process_is_the_one_that_matters),
        TEST(the_summary_adds_up_what_is_known),
        TEST(stats_rows_are_floats_and_carry_their_time),
        TEST(resources_speak_of_the_gpu_with_most_room),
        TEST(an_explanation_is_ranked_causes_with_evidence),
    };
    return RUN_TESTS(tests);
}
