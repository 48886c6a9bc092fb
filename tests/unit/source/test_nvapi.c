/* SPDX-License-Identifier: Apache-2.0
 * Hot spot and memory temperature from NVIDIA's other library: only on request, only what is plausible, and never of a card that
 * may not be touched.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "fake_nvml.h"

static struct fake_machine m;
static char notes[128];

/* The second card of the host, by its place on the bus; the first one is too new, the third one unknown to the library. */
static const char ada[] = "gpu A\n pci 0000:01:00.0\n architecture 10\n temperature 50\n"
                          "gpu B\n pci 0000:02:00.0\n architecture 8\n memory_max 10501\n temperature 70\n"
                          "gpu C\n pci 0000:03:00.0\n architecture 8\n temperature 60\n";

static void opened(const char *script, const char *sensors, bool use)
{
    fake_machine_init(&m, "", script);
    snprintf(notes, sizeof notes, "%s/notes", m.root);
    setenv("WHIRR_FAKE_NVAPI", sensors, 1);
    setenv("WHIRR_FAKE_NVAPI_LOG", notes, 1);
    env_use_nvapi(&m.env, use);
    assert_int_equal(fake_machine_open(&m), 0);
}

static struct gpu sample(size_t gpu)
{
    return fake_machine_sample(&m, gpu, GROUP_QUICK);
}

static const char *noted(char text[128])
{
    FILE *f = fopen(notes, "r");
    size_t size = f ? fread(text, 1, 127, f) : 0;
    text[size] = '\0';
    if (f)
        fclose(f);
    return text;
}

static void reads_cards_that_are_known_to_have_the_sensors(void **state)
{
    (void)state;
    opened(ada, "2:9=85.5,15=92 1:9=51,15=60", true);
    struct gpu g = sample(1);
    assert_reading(g.temp_hotspot_mdegc, 85500);
    assert_reading(g.temp_memory_mdegc, 92000);
    gpu_done(&g);
    g = sample(0); /* on Blackwell the same number is another sensor */
    assert_absent(g.temp_hotspot_mdegc, READING_UNSUPPORTED);
    assert_absent(g.temp_memory_mdegc, READING_UNSUPPORTED);
    gpu_done(&g);
    g = sample(2);
    assert_absent(g.temp_hotspot_mdegc, READING_UNSUPPORTED);
    gpu_done(&g);
    fake_machine_done(&m);
}

static void is_not_opened_unless_asked_for(void **state)
{
    (void)state;
    char text[128];
    opened(ada, "2:9=85.5", false);
    struct gpu g = sample(1);
    assert_absent(g.temp_hotspot_mdegc, READING_UNSUPPORTED);
    gpu_done(&g);
    assert_string_equal(noted(text), "");
    fake_machine_done(&m);
}

/* GDDR6 and Ampere: which of the sensors is the memory's is not known. */
static void memory_of_unclear_sensors_is_left_out(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "gpu X\n pci 0000:02:00.0\n architecture 8\n memory_max 9001\n temperature 70\n",
        "gpu X\n pci 0000:02:00.0\n architecture 7\n memory_max 10501\n temperature 70\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        opened(scripts[i], "2:9=80,15=90", true);
        struct gpu g = sample(0);
        assert_reading(g.temp_hotspot_mdegc, 80000);
        assert_absent(g.temp_memory_mdegc, READING_UNSUPPORTED);
        gpu_done(&g);
        fake_machine_done(&m);
    }
}

static void what_cannot_be_is_not_believed(void **state)
{
    (void)state;
    static const struct {
        const char *sensors;
        enum reading_state spot, memory;
    } cases[] = {
        {"2:9=255,15=0", READING_UNSUPPORTED, READING_UNSUPPORTED},
        {"2:9=20,15=45", READING_IMPLAUSIBLE, READING_IMPLAUSIBLE}, /* under a chip at 70 */
        {"2:9=200,15=-3", READING_IMPLAUSIBLE, READING_IMPLAUSIBLE},
        {"2:9=80 2:9=81", READING_UNSUPPORTED, READING_UNSUPPORTED}, /* which of the two? */
        {"", READING_UNSUPPORTED, READING_UNSUPPORTED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        opened(ada, cases[i].sensors, true);
        struct gpu g = sample(1);
        assert_absent(g.temp_hotspot_mdegc, cases[i].spot);
        assert_absent(g.temp_memory_mdegc, cases[i].memory);
        gpu_done(&g);
        fake_machine_done(&m);
    }
}

static void what_nvml_says_counts(void **state)
{
    (void)state;
    opened("gpu X\n pci 0000:02:00.0\n architecture 8\n memory_max 10501\n temperature 70\n hottest 79\n field 82 88\n",
           "2:9=85,15=99", true);
    struct gpu g = sample(0);
    assert_reading(g.temp_hotspot_mdegc, 79000);
    assert_reading(g.temp_memory_mdegc, 88000);
    gpu_done(&g);
    fake_machine_done(&m);
}

static void put_card(int bus, const char *status)
{
    static const struct {
        const char *file, *text;
    } files[] = {{"vendor", "0x10de\n"}, {"class", "0x030000\n"}, {"device", "0x2684\n"}, {"power/control", "auto\n"}};
    char path[128];
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:%02x:00.0/%s", bus, files[i].file);
        fake_machine_file(&m, path, files[i].text);
    }
    snprintf(path, sizeof path, "/sys/bus/pci/devices/0000:%02x:00.0/power/runtime_status", bus);
    fake_machine_file(&m, path, status);
}

/* Starting the library opens every card, and an open card never sleeps. */
static void it_is_closed_while_a_card_sleeps(void **state)
{
    (void)state;
    char text[128];
    static const char cards[] = "gpu A\n pci 0000:01:00.0\n architecture 8\n gpu_util 90\n"
                                "gpu B\n pci 0000:02:00.0\n architecture 8\n gpu_util 90\n";
    fake_machine_init(&m, "", cards);
    snprintf(notes, sizeof notes, "%s/notes", m.root);
    setenv("WHIRR_FAKE_NVAPI", "1:9=70 2:9=71", 1);
    setenv("WHIRR_FAKE_NVAPI_LOG", notes, 1);
    env_use_nvapi(&m.env, true);
    put_card(1, "suspended\n");
    put_card(2, "active\n");
    assert_int_equal(fake_machine_open(&m), 0);
    struct gpu g = sample(1);
    assert_absent(g.temp_hotspot_mdegc, READING_UNSUPPORTED);
    gpu_done(&g);
    assert_string_equal(noted(text), "");
    put_card(1, "active\n");
    g = sample(1);
    assert_reading(g.temp_hotspot_mdegc, 71000);
    gpu_done(&g);
    assert_string_equal(noted(text), "initialize\n");
    put_card(1, "suspended\n");
    g = sample(1);
    assert_absent(g.temp_hotspot_mdegc, READING_UNSUPPORTED);
    gpu_done(&g);
    assert_string_equal(noted(text), "initialize\nunload\n");
    fake_machine_done(&m);
}

static void a_missing_or_foreign_library_costs_nothing_but_the_reading(void **state)
{
    (void)state;
    static const char *const libraries[] = {"/nonexistent/libnvidia-api.so.1", "libm.so.6"};
    for (size_t i = 0; i < ARRAY_LEN(libraries); i++) {
        fake_machine_init(&m, "", ada);
        m.env.nvapi_library = libraries[i];
        assert_int_equal(fake_machine_open(&m), 0);
        struct gpu g = sample(1);
        assert_reading(g.temp_mdegc, 70000);
        assert_absent(g.temp_hotspot_mdegc, READING_UNSUPPORTED);
        gpu_done(&g);
        AUTO_BUF struct buf out = BUF(65536);
        nvml_source.describe(m.source, &out);
        assert_non_null(strstr(out.at, "cannot be loaded"));
        fake_machine_done(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_cards_that_are_known_to_have_the_sensors),
        TEST(is_not_opened_unless_asked_for),
        TEST(memory_of_unclear_sensors_is_left_out),
        TEST(what_cannot_be_is_not_believed),
        TEST(what_nvml_says_counts),
        TEST(it_is_closed_while_a_card_sleeps),
        TEST(a_missing_or_foreign_library_costs_nothing_but_the_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
