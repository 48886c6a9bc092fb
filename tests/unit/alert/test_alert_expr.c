/* SPDX-License-Identifier: Apache-2.0
 * The expression language: what holds, what is unknown, and what a person who mistyped is told.
 */
#include <stdio.h>

#include "subject.h"

#include "alert/expr/expr.h"
#include "model/finding.h"
#include "model/finding_code.h"
#include "model/severity.h"

static struct snapshot *machine;
static const struct process *process;

static int set_up(void **state)
{
    (void)state;
    machine = machine_new(1);
    struct gpu *g = &machine->gpus[0];
    gpu_set(g, "temperature_celsius", 90);
    gpu_set(g, "temperature_limit_celsius", 95);
    gpu_set(g, "utilization_percent", 42);
    gpu_set(g, "memory_total_mb", 24576);
    gpu_set(g, "memory_used_mb", 21504); /* 21 GiB */
    gpu_set(g, "power_watts", 320.5);
    gpu_set(g, "clock_graphics_mhz", 1980);
    gpu_set(g, "pcie_rx_bytes_per_second", 3e9);
    gpu_set(g, "pcie_width", 16);
    g->pstate = reading_ok(0);
    g->ecc_enabled = reading_ok(1);
    g->throttle_bits = reading_ok(THROTTLE_POWER_CAP | THROTTLE_SW_THERMAL);
    gpu_set_property(g, PROPERTY_driver_version, "570.10");
    machine->host.cpu_permille = reading_ok(755);
    machine->taken_at.ms = 1000000;
    struct process *p = gpu_add_process(g, 4242);
    assert_non_null(p);
    p->type = PROCESS_COMPUTE;
    p->mem_bytes = reading_ok(20LL << 30);
    p->started_at.ms = 940000;
    str_copy(p->name, sizeof p->name, STR("python3"));
    str_copy(p->user, sizeof p->user, STR("alice"));
    process = p;
    machine->source_count = 2;
    machine->sources[0].state = machine->sources[1].state = SOURCE_FAILING;
    machine_judge(machine)->gpus[0].vram_full_seconds = reading_ok(540);
    machine_find(machine, 0, FINDING_MEMORY_HOT, SEVERITY_WARNING);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    snapshot_unref(machine);
    return 0;
}

static enum truth eval(const char *text)
{
    struct expr *e = NULL;
    struct expr_error err;
    if (expr_parse(str_from(text), &e, &err))
        fail_msg("%s: %d: %s", text, err.column, err.text);
    struct subject s = {.snapshot = machine, .gpu = &machine->gpus[0], .process = process};
    enum truth t = expr_eval(e, &s);
    expr_free(e);
    return t;
}

#define HOLDS(text) assert_int_equal(eval(text), TRUTH_TRUE)
#define FAILS(text) assert_int_equal(eval(text), TRUTH_FALSE)
#define UNKNOWN(text) assert_int_equal(eval(text), TRUTH_UNKNOWN)

static void comparisons_and_connectives_mean_what_they_say(void **state)
{
    (void)state;
    HOLDS("temperature_celsius > 85 and utilization_percent > 10");
    FAILS("temperature_celsius > 85 and utilization_percent > 50");
    HOLDS("temperature_celsius > 99 or utilization_percent >= 42");
    HOLDS("not temperature_celsius < 90");
    HOLDS("temperature_celsius == 90 && !(utilization_percent != 42)");
    HOLDS("temperature_celsius > 99 or temperature_celsius > 80 and utilization_percent < 50");
    FAILS("(temperature_celsius > 99 or temperature_celsius > 80) and utilization_percent > 50");
    HOLDS("NOT utilization_percent > 50 AND pcie_width == 16");
}

static void arithmetic_binds_as_at_school(void **state)
{
    (void)state;
    HOLDS("temperature_celsius + 2 * 3 == 96");
    HOLDS("(temperature_celsius - 10) / 2 == 40");
    HOLDS("temperature_limit_celsius - temperature_celsius < 6");
    HOLDS("-temperature_celsius < -89");
    HOLDS("max(temperature_celsius, 100) == 100 and min(utilization_percent, 10) == 10 and abs(-pcie_width) == 16");
    gpu_set(&machine->gpus[0], "encoder_percent", 0.3);
    FAILS("encoder_percent > 0.3 or encoder_percent < 0.3 or encoder_percent != 0.3");
    HOLDS("encoder_percent >= 0.3 and encoder_percent <= 0.3");
    HOLDS("10 - 3 - 2 == 5 and known(temperature_celsius)");
}

static void units_are_converted(void **state)
{
    (void)state;
    HOLDS("memory_used_mb > 20GiB");
    FAILS("memory_used_mb > 22GiB");
    HOLDS("memory_used_mb > 20000");
    HOLDS("memory_used_mb == 21504MiB and memory_used_mb == 21 GiB");
    HOLDS("20GiB < memory_used_mb");
    HOLDS("memory_used_mb > 22GB"); /* powers of ten */
    HOLDS("memory_total_mb - memory_used_mb <= 3GiB");
    HOLDS("3GiB + memory_used_mb == memory_total_mb");
    HOLDS("2GiB + memory_used_mb == 23552"); /* MB, like the metric */
    HOLDS("temperature_celsius >= 90C and temperature_celsius > 85 °C");
    HOLDS("power_watts > 0.3kW and power_watts < 321 W and power_watts > 320000mW");
    HOLDS("clock_graphics_mhz == 1.98GHz");
    HOLDS("pcie_rx_bytes_per_second > 2GiB/s");
    HOLDS("pcie_rx_bytes_per_second * 10s > 20GiB");
    HOLDS("vram_full_seconds < 10min and vram_full_seconds <= 9m and vram_full_seconds > 8m30s");
    HOLDS("process.age_seconds == 1min");
}

static void shares_are_shares(void **state)
{
    (void)state;
    HOLDS("utilization_percent == 42% and utilization_percent == 42");
    HOLDS("memory_used_mb > 85% * memory_total_mb");
    FAILS("memory_used_mb > 90% * memory_total_mb");
    HOLDS("memory_used_mb / memory_total_mb > 85%");
    HOLDS("memory_used_mb / memory_total_mb > 0.85");
    HOLDS("memory_used_mb / memory_total_mb * 100 > 85");
    HOLDS("memory_used_percent > 87 and memory_used_percent < 88%");
}

static void absent_values_are_unknown_and_never_zero(void **state)
{
    (void)state;
    UNKNOWN("fan_percent < 5");
    UNKNOWN("fan_percent >= 0");
    UNKNOWN("not fan_percent < 5");
    UNKNOWN("fan_percent + 1 < 5");
    UNKNOWN("fan_percent < 5 and temperature_celsius > 80");
    FAILS("fan_percent < 5 and temperature_celsius > 99");
    HOLDS("fan_percent < 5 or temperature_celsius > 80");
    UNKNOWN("fan_percent < 5 or temperature_celsius > 99");
    FAILS("known(fan_percent)");
    UNKNOWN("temperature_celsius / 0 > 1");
    UNKNOWN("health_level > 0");
    UNKNOWN("process.container == \"x\"");
}

static void numbers_may_have_an_exponent(void **state)
{
    (void)state;
    HOLDS("temperature_celsius > 1e1 and temperature_celsius > 5e-1");
    HOLDS("temperature_celsius < 1.5E+3 and temperature_celsius < 15e2");
}

static void states_and_words_can_be_asked(void **state)
{
    (void)state;
    HOLDS("state == \"ok\"");
    machine->gpus[0].state = GPU_LOST;
    HOLDS("state == 'lost' and state != \"ok\"");
    HOLDS("performance_state == \"P0\"");
    HOLDS("ecc_enabled and ecc_enabled == true");
    HOLDS("throttle_reasons contains \"thermal\" and not throttle_reasons contains \"sync\"");
    HOLDS("slowed_down");
    HOLDS("name matches \"test*\" and driver_version matches \"570.*\" and name contains \"card\"");
    HOLDS("process.user == \"alice\" and process.name matches \"python?\" and process.type == \"compute\"");
    HOLDS("host.name == \"box\" and host.cpu_percent > 75 and source_down == 2 and host.source_down > 1");
    HOLDS("gpu.temperature_celsius > 85");
}

static void the_widest_name_decides_what_a_rule_is_about(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum alert_scope scope;
    } cases[] = {
        {"host.cpu_percent > 90", SCOPE_HOST},
        {"store_failing > 0", SCOPE_HOST},
        {"temperature_celsius > 85 and host.cpu_percent < 10", SCOPE_GPU},
        {"process.memory_mb > 20GiB and utilization_percent < 5", SCOPE_PROCESS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct expr *e = NULL;
        assert_int_equal(expr_parse(str_from(cases[i].text), &e, NULL), 0);
        assert_int_equal(expr_scope(e), cases[i].scope);
        expr_free(e);
    }
}

static void mistakes_are_pointed_at(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int column;
        const char *message; /* part of it */
    } cases[] = {
        {"temprature_celsius > 85", 1, "did you mean 'temperature_celsius'"},
        {"utilization_percent > 10 and temp > 85", 30, "did you mean 'temperature_celsius'"},
        {"utilisation_percent > 5", 1, "utilization_percent"},
        {"cpu_percent > 90", 1, ".cpu_percent"},
        {"memory_mb > 1GiB", 1, "process.memory_mb"},
        {"xyzzy > 5", 1, "whirr alert names"},
        {"temperature_celsius > 85W", 23, "a power cannot be compared with a temperature"},
        {"memory_used_mb + 5C > 3", 18, "cannot be added"},
        {"temperature_celsius", 1, "compare this with something"},
        {"temperature_celsius > 85 and utilization_percent", 30, "condition"},
        {"temperature_celsius >", 22, "missing at the end"},
        {"temperature_celsius > > 85", 23, "expected"},
        {"(temperature_celsius > 85", 1, "not closed"},
        {"temperature_celsius > 85)", 25, "no parenthesis"},
        {"temperature_celsius = 85", 21, "=="},
        {"80 < temperature_celsius < 90", 26, "two sides"},
        {"temperature_celsius > 85 utilization_percent > 1", 26, "operator"},
        {"state == lost", 10, "quotes"},
        {"state == \"lsot\"", 10, "did you mean \"lost\""},
        {"severity == \"warnign\"", 13, "did you mean \"warning\""},
        {"findings contains \"fan_stoped\"", 19, "did you mean \"fan_stopped\""},
        {"state > \"ok\"", 1, "== or !="},
        {"state == 5", 10, "text"},
        {"throttle_reasons == \"idle\"", 1, "contains"},
        {"throttle_reasons contains \"thremal\"", 27, "did you mean"},
        {"temperature_celsius > \"85", 23, "does not end"},
        {"temperature_celsius > 85Q", 25, "unknown unit"},
        {"temperature_celsius > 1.2.3", 23, "not a number"},
        {"5 > 3", 1, "no metric"},
        {"", 1, "empty"},
        {"   ", 1, "empty"},
        {"temperature_celsius > 85 # hot", 26, "no meaning"},
        {"name == \"ä\" and tempersture_celsius > 1", 17, "temperature_celsius"}, /* columns are characters */
        {"min(temperature_celsius) > 3", 24, "second number"},
        {"known(5) ", 7, "name of a metric"},
        {"pcie_width > 8GiB", 14, "memory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct expr *e = NULL;
        struct expr_error err = {0};
        assert_int_not_equal(expr_parse(str_from(cases[i].text), &e, &err), 0);
        if (err.column != cases[i].column || !strstr(err.text, cases[i].message))
            fail_msg("%s: column %d (expected %d): %s", cases[i].text, err.column, cases[i].column, err.text);
    }
}

static void the_caret_stands_below_the_mistake(void **state)
{
    (void)state;
    const char *text = "name == \"ä\" and tempersture_celsius > 1";
    struct expr *e = NULL;
    struct expr_error err;
    AUTO_BUF struct buf out = BUF(4096);
    expr_parse(str_from(text), &e, &err);
    expr_caret(&out, str_from(text), &err, 2);
    assert_string_equal(out.at, "  name == \"ä\" and tempersture_celsius > 1\n"
                                "                  ^^^^^^^^^^^^^^^^^^^\n");
}

static void length_and_depth_have_limits(void **state)
{
    (void)state;
    struct expr *e = NULL;
    struct expr_error err;
    AUTO_BUF struct buf text = BUF(1 << 20);
    for (int i = 0; i < 40; i++)
        buf_char(&text, '(');
    buf_text(&text, "state == 'ok'");
    assert_int_not_equal(expr_parse(buf_view(&text), &e, &err), 0);
    assert_non_null(strstr(err.text, "deep"));

    AUTO_BUF struct buf nots = BUF(1 << 20);
    for (int i = 0; i < 100; i++)
        buf_text(&nots, "not ");
    buf_text(&nots, "slowed_down");
    assert_int_not_equal(expr_parse(buf_view(&nots), &e, &err), 0);
    assert_non_null(strstr(err.text, "deep"));

    AUTO_BUF struct buf sum = BUF(1 << 20);
    buf_text(&sum, "0");
    for (int i = 0; i < 200; i++)
        buf_text(&sum, "+1");
    buf_text(&sum, " > index");
    assert_int_not_equal(expr_parse(buf_view(&sum), &e, &err), 0);
    assert_non_null(strstr(err.text, "too long"));

    AUTO_BUF struct buf longer = BUF(1 << 20);
    for (int i = 0; i < 2000; i++)
        buf_char(&longer, ' ');
    assert_int_not_equal(expr_parse(buf_view(&longer), &e, &err), 0);
    assert_non_null(strstr(err.text, "too long"));
}

static void the_number_that_decided_is_known(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name;
        double value;
    } cases[] = {
        {"utilization_percent > 10", "utilization_percent", 42},
        {"temperature_celsius > 99 or utilization_percent > 10", "utilization_percent", 42},
        {"85 < temperature_celsius and utilization_percent > 10", "temperature_celsius", 90},
        {"not utilization_percent > 50", "utilization_percent", 42},
        {"slowed_down and power_watts > 1", "power_watts", 320.5},
    };
    struct subject s = {.snapshot = machine, .gpu = &machine->gpus[0]};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct expr *e = NULL;
        const struct alert_name *name = NULL;
        double value = 0;
        assert_int_equal(expr_parse(str_from(cases[i].text), &e, NULL), 0);
        assert_true(expr_value(e, &s, &name, &value));
        assert_string_equal(name->text, cases[i].name);
        assert_true(value > cases[i].value - 0.01 && value < cases[i].value + 0.01);
        expr_free(e);
    }
}

static void every_name_can_be_found_and_read(void **state)
{
    (void)state;
    struct alert_name n, found;
    struct subject s = {.snapshot = machine, .gpu = &machine->gpus[0], .process = process};
    size_t count = 0;
    for (; name_at(count, &n); count++) {
        assert_true(name_find(str_from(n.text), &found));
        assert_int_equal(found.kind, n.kind);
        assert_int_equal(found.index, n.index);
        assert_non_null(n.help);
        struct value v = name_read(&n, &s);
        assert_true(v.type == VALUE_UNKNOWN || v.type == n.type);
    }
    assert_true(count > METRIC_COUNT);
}

static void numbers_are_shown_with_their_unit(void **state)
{
    (void)state;
    static const struct {
        double number;
        const char *name, *text;
    } cases[] = {
        {21504, "memory_used_mb", "21.0 GiB"},
        {21600, "memory_used_mb", "21.1 GiB"},
        {90, "temperature_celsius", "90 °C"},
        {42.5, "utilization_percent", "42.5%"},
        {3e9, "pcie_rx_bytes_per_second", "2.8 GiB/s"},
        {540, "vram_full_seconds", "9m"},
        {547, "vram_full_seconds", "9m 7s"},
        {90061, "vram_full_seconds", "1d 1h"},
        {1.5, "vram_full_seconds", "1.5s"},
        {16, "pcie_width", "16"},
        {0.5, "power_watts", "0.5 W"},
        {1980, "clock_graphics_mhz", "1980 MHz"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO_BUF struct buf out = BUF(256);
        unit_format(&out, cases[i].number, unit_of_name(cases[i].name));
        assert_string_equal(out.at, cases[i].text);
    }
}

#define WITH_MACHINE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_MACHINE(comparisons_and_connectives_mean_what_they_say),
        WITH_MACHINE(arithmetic_binds_as_at_school),
        WITH_MACHINE(units_are_converted),
        WITH_MACHINE(shares_are_shares),
        WITH_MACHINE(absent_values_are_unknown_and_never_zero),
        WITH_MACHINE(numbers_may_have_an_exponent),
        WITH_MACHINE(states_and_words_can_be_asked),
        WITH_MACHINE(the_widest_name_decides_what_a_rule_is_about),
        WITH_MACHINE(mistakes_are_pointed_at),
        WITH_MACHINE(the_caret_stands_below_the_mistake),
        WITH_MACHINE(length_and_depth_have_limits),
        WITH_MACHINE(the_number_that_decided_is_known),
        WITH_MACHINE(every_name_can_be_found_and_read),
        WITH_MACHINE(numbers_are_shown_with_their_unit),
    };
    return RUN_TESTS(tests);
}
