/* SPDX-License-Identifier: Apache-2.0
 * A snapshot: its copies, the names by which one of its GPUs is found, and why a reading is absent.
 */
#include "model/snapshot.h"

#include <errno.h>

#include "base/cleanup.h"
#include "model/finding.h"
#include "model/finding_code.h"
#include "test.h"

static struct snapshot *two_gpus(void)
{
    struct snapshot *s = snapshot_new(2);
    assert_non_null(s);
    for (int i = 0; i < 2; i++)
        s->gpus[i].index = 4 + i;
    strcpy(s->gpus[0].id.uuid, "GPU-ab12cd34-0000");
    strcpy(s->gpus[1].id.uuid, "GPU-ab12ef56-0000");
    strcpy(s->gpus[0].id.pci_address, "0000:01:00.0");
    strcpy(s->gpus[1].id.pci_address, "0001:01:00.0");
    return s;
}

static void a_copy_shares_nothing_with_its_original(void **state)
{
    (void)state;
    struct snapshot *s = two_gpus();
    s->sequence = 42;
    s->gpus[0].power_mw = reading_ok(100);
    strcpy(gpu_add_process(&s->gpus[0], 7)->name, "train.py");
    struct gpu *instance = gpu_add_instance(&s->gpus[1]);
    instance->mem_used_bytes = reading_ok(5);
    s->verdict = verdict_new(2, 1);
    s->verdict->findings[s->verdict->count++] = (struct finding){.code = FINDING_FAN_STOPPED, .gpu_index = 4};
    snapshot_ref(s);
    struct snapshot *copy = snapshot_copy(s);
    s->gpus[0].processes[0].name[0] = 'T';
    s->gpus[1].instances[0].mem_used_bytes = reading_ok(6);
    s->verdict->findings[0].gpu_index = 5;
    snapshot_unref(s);
    snapshot_unref(s);
    assert_int_equal(copy->refs, 1);
    assert_int_equal(copy->sequence, 42);
    assert_int_equal(copy->gpu_count, 2);
    assert_int_equal(copy->gpus[0].power_mw.value, 100);
    assert_string_equal(copy->gpus[0].processes[0].name, "train.py");
    assert_int_equal(copy->gpus[1].instances[0].mem_used_bytes.value, 5);
    assert_non_null(verdict_find(copy->verdict, 4, FINDING_FAN_STOPPED));
    snapshot_unref(copy);
    snapshot_unref(NULL);
}

static void a_gpu_is_found_by_every_name_that_it_has(void **state)
{
    (void)state;
    static const struct {
        const char *which;
        int at;
    } cases[] = {
        {"4", 0},
        {"5", 1},
        {"0", -1}, /* an index, not a position */
        {"GPU-ab12cd34-0000", 0},
        {"gpu-AB12EF", 1},
        {"ab12c", 0},
        {"ab12", -1}, /* both */
        {"ab1", -1},  /* too short to mean a UUID */
        {"0000:01:00.0", 0},
        {"00000001:01:00.0", 1}, /* as nvidia-smi writes it */
        {"01:00.0", -1},         /* in both domains */
        {"02:00.0", -1},
        {"", -1},
    };
    struct snapshot *s = two_gpus();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (snapshot_find_gpu(s, cases[i].which) != cases[i].at)
            fail_msg("%s is found at %d", cases[i].which, snapshot_find_gpu(s, cases[i].which));
    s->gpus[1].id.pci_address[0] = '\0'; /* not on a PCI bus */
    assert_int_equal(snapshot_find_gpu(s, "01:00.0"), 0);
    snapshot_unref(s);
}

static void a_host_with_gpus_of_two_vendors_has_two_drivers(void **state)
{
    (void)state;
    struct snapshot *s = snapshot_new(4);
    struct gpu_driver drivers[DRIVERS_MAX];
    assert_int_equal(snapshot_drivers(s, drivers), 0);
    gpu_set_property(&s->gpus[0], PROPERTY_driver, "nvidia");
    gpu_set_property(&s->gpus[0], PROPERTY_driver_version, "580.95.05");
    gpu_set_property(&s->gpus[1], PROPERTY_driver, "amdgpu");
    s->gpus[2].driver = s->gpus[0].driver;
    s->gpus[2].driver_version = s->gpus[0].driver_version;
    assert_int_equal(snapshot_drivers(s, drivers), 2);
    assert_string_equal(drivers[0].name, "nvidia");
    assert_string_equal(drivers[0].version, "580.95.05");
    assert_string_equal(drivers[1].name, "amdgpu");
    assert_string_equal(drivers[1].version, "");
    snapshot_unref(s);
}

static void reasons_of_absence_have_names_that_are_read_back(void **state)
{
    (void)state;
    for (int i = 0; i <= READING_LAST; i++) {
        enum reading_state back = READING_OK;
        assert_true(reading_state_from_name(reading_state_name((enum reading_state)i), &back));
        assert_int_equal(back, i);
    }
    enum reading_state back;
    assert_false(reading_state_from_name("tired", &back));
    assert_string_equal(reading_state_name((enum reading_state)99), "failed");
}

static void errors_of_the_kernel_become_reasons(void **state)
{
    (void)state;
    assert_int_equal(reading_state_from_errno(0), READING_OK);
    assert_int_equal(reading_state_from_errno(-ENOENT), READING_UNSUPPORTED);
    assert_int_equal(reading_state_from_errno(EOPNOTSUPP), READING_UNSUPPORTED);
    assert_int_equal(reading_state_from_errno(-EACCES), READING_DENIED);
    assert_int_equal(reading_state_from_errno(-EIO), READING_FAILED);
}

static void an_absent_reading_has_no_number(void **state)
{
    (void)state;
    int64_t value = 17;
    assert_false(reading_get((struct reading){0}, &value));
    assert_false(reading_get((struct reading){.value = 5, .state = READING_IMPLAUSIBLE}, &value));
    assert_int_equal(value, 17);
    assert_int_equal(reading_or(reading_absent(READING_DENIED), -1), -1);
    assert_true(reading_get(reading_ok(0), &value));
    assert_int_equal(value, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_copy_shares_nothing_with_its_original),
        TEST(a_gpu_is_found_by_every_name_that_it_has),
        TEST(a_host_with_gpus_of_two_vendors_has_two_drivers),
        TEST(reasons_of_absence_have_names_that_are_read_back),
        TEST(errors_of_the_kernel_become_reasons),
        TEST(an_absent_reading_has_no_number),
    };
    return RUN_TESTS(tests);
}
