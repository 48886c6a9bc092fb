/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/internal.h"

#include <stdio.h>

#include "test.h"

static struct gpu_id id(const char *vendor, const char *pci, const char *uuid)
{
    struct gpu_id i = {0};
    snprintf(i.vendor, sizeof i.vendor, "%s", vendor);
    snprintf(i.pci_address, sizeof i.pci_address, "%s", pci);
    snprintf(i.uuid, sizeof i.uuid, "%s", uuid);
    snprintf(i.name, sizeof i.name, "card");
    return i;
}

static void orders_nvidia_first_then_by_address(void **state)
{
    (void)state;
    struct roster r = {0};
    struct gpu_id amd = id("amd", "0000:03:00.0", ""), intel = id("intel", "0000:00:02.0", "");
    struct gpu_id second = id("nvidia", "0000:09:00.0", "GPU-b"), first = id("nvidia", "0000:81:00.0", "GPU-a");
    roster_begin(&r);
    roster_place(&r, &amd, 1, 0);
    roster_place(&r, &first, 0, 0);
    roster_place(&r, &second, 0, 1);
    roster_place(&r, &intel, 2, 0);
    roster_sort(&r);
    assert_string_equal(r.entries[0].id.uuid, "GPU-a");
    assert_string_equal(r.entries[1].id.uuid, "GPU-b");
    assert_string_equal(r.entries[2].id.vendor, "intel");
    assert_string_equal(r.entries[3].id.vendor, "amd");
}

static void a_card_that_returns_gets_its_index_again(void **state)
{
    (void)state;
    struct roster r = {0};
    struct gpu_id a = id("nvidia", "0000:01:00.0", "GPU-a"), b = id("nvidia", "0000:02:00.0", "GPU-b"),
                  c = id("nvidia", "0000:03:00.0", "GPU-c");
    roster_begin(&r);
    assert_int_equal(roster_place(&r, &a, 0, 0), 0);
    assert_int_equal(roster_place(&r, &b, 0, 1), 1);
    roster_begin(&r); /* a is gone, the driver numbers b as 0; a new one came */
    assert_int_equal(roster_place(&r, &b, 0, 0), 1);
    assert_int_equal(roster_place(&r, &c, 0, 1), 2);
    assert_false(r.entries[0].present);
    roster_begin(&r);
    assert_int_equal(roster_place(&r, &a, 0, 0), 0);
}

static void a_driver_that_fails_altogether_makes_no_new_card(void **state)
{
    (void)state;
    struct roster r = {0};
    struct gpu_id a = id("nvidia", "0000:01:00.0", "GPU-a"), b = id("nvidia", "0000:02:00.0", "GPU-b"),
                  nameless = {.vendor = "nvidia"};
    roster_begin(&r);
    assert_int_equal(roster_place(&r, &a, 0, 0), 0);
    assert_int_equal(roster_place(&r, &nameless, 0, 1), 1); /* fails from the start: it is named later */
    roster_begin(&r);
    assert_int_equal(roster_place(&r, &nameless, 0, 0), 0);
    assert_int_equal(roster_place(&r, &b, 0, 1), 1);
    assert_int_equal(r.count, 2);
    assert_string_equal(r.entries[0].id.uuid, "GPU-a");
    assert_string_equal(r.entries[1].id.uuid, "GPU-b");
}

static void two_sources_do_not_list_a_card_twice(void **state)
{
    (void)state;
    struct roster r = {0};
    struct gpu_id by_nvml = id("nvidia", "0000:01:00.0", "GPU-a"), by_drm = id("nvidia", "0000:01:00.0", "");
    roster_begin(&r);
    assert_int_equal(roster_place(&r, &by_nvml, 0, 0), 0);
    assert_int_equal(roster_place(&r, &by_drm, 3, 0), -1);
    assert_int_equal(r.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(orders_nvidia_first_then_by_address),
        TEST(a_card_that_returns_gets_its_index_again),
        TEST(a_driver_that_fails_altogether_makes_no_new_card),
        TEST(two_sources_do_not_list_a_card_twice),
    };
    return RUN_TESTS(tests);
}
