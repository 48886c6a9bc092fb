/* SPDX-License-Identifier: Apache-2.0
 * What the NVML source reads of a card: values, groups, what is unsupported, and that it is asked once.
 */
#include "fake_nvml.h"

static const char one_h200[] = "gpu NVIDIA H200\n profile h200\n pci 0000:00:06.0\n";

static void lists_cards_with_identity(void **state)
{
    (void)state;
    struct fake_machine m;
    struct gpu_id ids[8];
    fake_machine_init(&m, "", "gpu NVIDIA GeForce RTX 4090\n pci 0000:41:00.0\ngpu NVIDIA H200\n pci 0001:00:06.0\n");
    assert_int_equal(fake_machine_open(&m), 0);
    assert_int_equal(nvml_source.list(m.source, ids, 8), 2);
    assert_string_equal(ids[0].name, "NVIDIA GeForce RTX 4090");
    assert_string_equal(ids[0].pci_address, "0000:41:00.0");
    assert_string_equal(ids[0].uuid, "GPU-00000000-1111-2222-3333-444444444444");
    assert_string_equal(ids[1].pci_address, "0001:00:06.0");
    assert_string_equal(ids[1].vendor, "nvidia");
    fake_machine_done(&m);
}

#define assert_reading(r, v)                     \
    do {                                         \
        assert_int_equal((r).state, READING_OK); \
        assert_int_equal((r).value, (v));        \
    } while (0)

static void reads_the_fast_group(void **state)
{
    (void)state;
    struct fake_machine m;
    fake_machine_init(&m, "", one_h200);
    assert_int_equal(fake_machine_open(&m), 0);
    struct gpu g = fake_machine_sample(&m, 0, GROUP_FAST);
    assert_int_equal(g.state, GPU_OK);
    assert_reading(g.temp_mdegc, 38000);
    assert_reading(g.temp_limit_mdegc, 89000);
    assert_reading(g.temp_margin_mdegc, 49000);
    assert_reading(g.temp_memory_mdegc, 38000);
    assert_reading(g.power_mw, 79940);
    assert_reading(g.power_limit_mw, 700000);
    assert_reading(g.mem_total_bytes, 143771LL << 20);
    assert_reading(g.mem_used_bytes, 0);
    assert_reading(g.mem_reserved_bytes, 616LL << 20);
    assert_int_equal(g.mem_used_bytes.value + g.mem_free_bytes.value + g.mem_reserved_bytes.value, g.mem_total_bytes.value);
    assert_reading(g.clock_graphics_khz, 345000);
    assert_reading(g.clock_memory_khz, 3201000);
    assert_reading(g.pstate, 0);
    assert_reading(g.throttle_bits, THROTTLE_IDLE);
    assert_reading(g.pcie_generation, 5);
    assert_int_equal(g.fan_permille.state, READING_UNSUPPORTED);
    assert_int_equal(g.energy_mj.state, READING_UNREAD);
    assert_int_equal(g.ecc_corrected.state, READING_UNREAD);
    assert_int_equal(g.processes_state, READING_UNREAD);
    gpu_done(&g);
    fake_machine_done(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lists_cards_with_identity),
        TEST(reads_the_fast_group),
    };
    return RUN_TESTS(tests);
}
