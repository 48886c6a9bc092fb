/* SPDX-License-Identifier: Apache-2.0
 * The form of a run, once.
 */
#include "check/check_record.h"

#include <errno.h>

#include "base/cleanup.h"

ANSWER_NAMES(level_names, enum check_level, check_level_name, 0, CHECK_LEVEL_COUNT - 1);
ANSWER_NAMES(test_names, enum check_test, check_test_name, 0, CHECK_TEST_COUNT - 1);
ANSWER_NAMES(end_names, enum check_end, check_end_name, 0, CHECK_END_COUNT - 1);
ANSWER_NAMES(verdict_names, enum check_verdict, check_verdict_name, 0, CHECK_VERDICT_COUNT - 1);
ANSWER_NAMES(basis_names, enum check_basis, check_basis_name, 0, CHECK_BASIS_COUNT - 1);
ANSWER_NAMES(value_names, enum check_value, check_value_name, 0, CHECK_VALUE_COUNT - 1);

SHARED_ANSWER_TABLE(check_device_answer, struct check_device, .name = "CheckDevice")
{
    FIELD(TEXT, "api", api, "Through which it was tested: cuda, opencl");
    FIELD(TEXT, "driver", driver, NULL, OR_NULL);
    FIELD(TEXT, "name", name, NULL, OR_NULL);
    FIELD(TEXT, "uuid", uuid, NULL, OR_NULL);
    FIELD(TEXT, "pci_address", pci, NULL, OR_NULL);
    FIELD(INT, "memory_bytes", total_bytes, NULL, NONE(0));
    FIELD(INT, "memory_free_bytes", free_bytes, "Before the check", NONE(0));
    FIELD(INT, "allocation_bytes_max", largest_bytes, NULL, NONE(0));
    FIELD(AMOUNT, "clock_memory_mhz", memory_khz, "As the driver reports it: the data rate is twice this", SCALE(1e-3), NONE(0));
    FIELD(INT, "memory_bus_bits", bus_bits, NULL, NONE(0));
    FIELD(AMOUNT, "clock_max_mhz", clock_khz, NULL, SCALE(1e-3), NONE(0));
    FIELD(INT, "multiprocessors", processors, NULL, NONE(0));
    FIELD(INT, "fp32_lanes", fp32_lanes, "Of a multiprocessor", NONE(0));
    FIELD(BOOL, "tensor_cores", tensor, NULL);
    FIELD(BOOL, "integrated", integrated, NULL);
    FIELD(BOOL, "instance", instance, "Only this part of a divided GPU was tested");
    FIELD(BOOL, "shared", shared, "With programs of others, through MPS");
}

ANSWER_TEST(is_wrong, struct check_test_run, of->wrong > 0);

ANSWER_TABLE(test_answer, struct check_test_run, .name = "CheckTest")
{
    FIELD(NAME, "test", test, NULL, NAMES(test_names));
    FIELD(BOOL, "asked", asked, NULL);
    FIELD(BOOL, "begun", begun, NULL);
    FIELD(BOOL, "finished", finished, NULL);
    FIELD(INT, "answers", answers, "Compared; of memory: words of 32 bits");
    FIELD(INT, "wrong", wrong, NULL);
    FIELD(INT, "bits_lost", lost, "0 instead of 1, of all wrong ones");
    FIELD(INT, "bits_set", set, "1 instead of 0");
    FIELD(INT, "place", place, "Of the first wrong one: its word; of an answer, from bit 32 on its multiprocessor", WHEN(is_wrong));
    FIELD(INT, "expected", expected, NULL, WHEN(is_wrong));
    FIELD(INT, "got", got, NULL, WHEN(is_wrong));
    FIELD(BOOL, "one_multiprocessor", one_processor, "All wrong answers came from one");
}

ANSWER_MAKER(make_unit, struct check_measure, word, check_value_unit(of->value));

ANSWER_TABLE(measure_answer, struct check_measure, .name = "CheckValue")
{
    FIELD(NAME, "value", value, NULL, NAMES(value_names));
    MADE(WORD, "unit", make_unit, NULL, OR_NULL);
    FIELD(NUMBER, "measured", measured, "The median of its launches", NONE(0));
    FIELD(NUMBER, "spread", spread, "Slow launches beside fast ones: 1 is steady", NONE(0));
    FIELD(NUMBER, "expected", expected, "What others of its kind reach; null: nothing to compare with", NONE(0));
    FIELD(NAME, "basis", basis, "Where the expectation comes from", NAMES(basis_names));
    FIELD(INT, "basis_runs", basis_runs, "Runs of this GPU that it comes from");
    FIELD(BOOL, "low", low, NULL);
}

SHARED_ANSWER_TABLE(check_run_answer, struct check_run, .name = "CheckRun")
{
    FIELD(MOMENT, "at", at, "When it began");
    FIELD(INT, "gpu_index", gpu_index, NULL);
    FIELD(TEXT, "gpu_name", gpu_name, NULL);
    FIELD(TEXT, "gpu_uuid", gpu_uuid, NULL, OR_NULL);
    FIELD(TEXT, "pci_address", gpu_pci, NULL, OR_NULL);
    FIELD(TEXT, "serial", serial, NULL, OR_NULL);
    FIELD(TEXT, "vbios", vbios, NULL, OR_NULL);
    FIELD(TEXT, "driver", driver, NULL, OR_NULL);
    FIELD(TEXT, "host", host, NULL, OR_NULL);
    FIELD(TEXT, "version", version, "Of whirr");
    FIELD(NAME, "level", level, NULL, NAMES(level_names));
    FIELD(NAME, "verdict", verdict, NULL, NAMES(verdict_names), COUNTS);
    FIELD(TEXT, "words", words, "The verdict as a sentence", COUNTS);
    FIELD(TEXT, "advice", advice, NULL, OR_NULL, COUNTS);
    FIELD(NAME, "end", end, "How the run ended", NAMES(end_names));
    FIELD(TEXT, "reason", reason, "Of an end that is not done", OR_NULL);
    FIELD(BOOL, "forced", forced, NULL);
    FIELD(BOOL, "disturbed", disturbed, "Others used the GPU: speed is not judged");
    FIELD(BOOL, "power_limited", power_limited, "Below its stock power limit: speed is not judged");
    FIELD(NUMBER, "asked_seconds", asked_s, NULL);
    FIELD(NUMBER, "took_seconds", took_s, NULL);
    FIELD(INT, "seed", seed, "Of the random patterns");
    FIELD(INT, "memory_wanted_bytes", wanted_bytes, "Free memory without the margin", NONE(0));
    FIELD(INT, "memory_covered_bytes", covered_bytes, "Written and read back at least once");
    FIELD(INT, "memory_verified_bytes", verified_bytes, "All passes together");
    FIELD(NUMBER, "launch_longest_ms", longest_ms, NULL, NONE(0));
    FIELD(READING, "temperature_max_celsius", temp_max_mdegc, NULL, SCALE(1e-3));
    FIELD(READING, "power_max_watts", power_max_mw, NULL, SCALE(1e-3));
    FIELD(READING, "fan_max_percent", fan_max_permille, NULL, SCALE(0.1));
    FIELD(READING, "clock_mhz", clock_khz, "Mean during the arithmetic", SCALE(1e-3));
    FIELD(READING, "pcie_generation", link_generation, "Under load", WHOLE);
    FIELD(READING, "pcie_width", link_width, "Under load", WHOLE);
    FIELD(READING, "pcie_generation_max", link_generation_max, NULL, WHOLE);
    FIELD(READING, "pcie_width_max", link_width_max, NULL, WHOLE);
    FIELD(READING, "ecc_more", ecc, "Uncorrected errors during the check", WHOLE);
    FIELD(READING, "remapped_rows_more", rows, NULL, WHOLE);
    FIELD(READING, "pcie_replays_more", replays, NULL, WHOLE);
    FIELD(READING, "xids", xids, "Errors that the driver reported during the check", WHOLE);
    FIELD(INT, "samples", samples, "Looks at the GPU during the check");
    FIELD(INT, "samples_hot", hot_samples, "Slowed down by heat");
    FIELD(INT, "samples_slowed", slowed_samples, "Slowed down by the board or the power supply");
    FIELD(INT, "samples_capped", capped_samples, "At the power limit");
    FIELD(OBJECT, "device", device, "As its compute driver describes it", FIELDS(check_device_answer));
    OBJECTS("tests", test, test_count, test_answer, NULL);
    OBJECTS("values", value, value_count, measure_answer, NULL);
}

static void write_line(FILE *to, const char *key, const struct answer *answer, const void *record)
{
    AUTO_BUF struct buf out = BUF(64 << 10);
    struct json_writer j = JSON_WRITER(&out);
    jw_object(&j);
    jw_key(&j, key);
    jw_object(&j);
    answer_write_keys(&j, answer, record, NULL);
    jw_end(&j);
    jw_end(&j);
    buf_char(&out, '\n');
    fwrite(buf_view(&out).at, 1, out.len, to);
    fflush(to);
}

void record_write_device(FILE *to, const struct check_device *device)
{
    write_line(to, "device", &check_device_answer, device);
}

void record_write_progress(FILE *to, const struct check_run *run)
{
    write_line(to, "progress", &check_run_answer, run);
}

void record_write_run(FILE *to, const struct check_run *run)
{
    write_line(to, "run", &check_run_answer, run);
}

bool check_run_read(const json_t *json, struct check_run *run)
{
    check_run_init(run, CHECK_LEVEL_QUICK, 0);
    if (!json_is_object(json) || !answer_read(&check_run_answer, json, run, NULL))
        return false;
    for (uint32_t i = 0; i < CHECK_TEST_COUNT; i++)
        if (run->test_count != CHECK_TEST_COUNT || run->test[i].test != i)
            return false;
    for (uint32_t i = 0; i < CHECK_VALUE_COUNT; i++)
        if (run->value_count != CHECK_VALUE_COUNT || run->value[i].value != i)
            return false;
    return true;
}

int record_read(struct str line, struct check_run *run)
{
    AUTO_JSON json_t *json = json_loadb(line.at, line.len, 0, NULL);
    const json_t *device = json_object_get(json, "device"), *progress = json_object_get(json, "progress"),
                 *whole = json_object_get(json, "run");
    int rc = device || progress || whole ? 0 : -EPROTO;
    if (device)
        answer_read(&check_device_answer, device, &run->device, NULL);
    else if (rc == 0 && !check_run_read(whole ? whole : progress, run))
        rc = -EPROTO;
    return rc < 0 ? rc : whole != NULL;
}
