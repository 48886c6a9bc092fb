/* SPDX-License-Identifier: Apache-2.0
 * Names of what a check does and finds, as in JSON.
 */
#include "insight/check/run.h"

#include "base/cleanup.h"

const char *check_level_name(enum check_level level)
{
    static const char *const names[] = {"quick", "standard", "memory", "full"};
    return (size_t)level < ARRAY_LEN(names) ? names[level] : "unknown";
}

#define NAME_OF(name, text) text,
#define NAMES_OF(function, type, list)                                      \
    const char *function(type value)                                        \
    {                                                                       \
        static const char *const names[] = {list(NAME_OF)};                 \
        return (size_t)value < ARRAY_LEN(names) ? names[value] : "unknown"; \
    }
NAMES_OF(check_test_name, enum check_test, CHECK_TESTS)
NAMES_OF(check_end_name, enum check_end, CHECK_ENDS)
NAMES_OF(check_verdict_name, enum check_verdict, CHECK_VERDICTS)
NAMES_OF(check_basis_name, enum check_basis, CHECK_BASES)

static const struct {
    const char *name, *unit;
    enum check_test test;
} values[] = {
#define VALUE(id, text, unit_, test_) [CHECK_VALUE_##id] = {text, unit_, CHECK_##test_},
    CHECK_VALUES(VALUE)
#undef VALUE
};

const char *check_value_name(enum check_value value)
{
    return (size_t)value < ARRAY_LEN(values) ? values[value].name : "unknown";
}

const char *check_value_unit(enum check_value value)
{
    return values[value].unit;
}

enum check_test check_value_test(enum check_value value)
{
    return values[value].test;
}

void check_run_init(struct check_run *run, enum check_level level, unsigned tests)
{
    *run = (struct check_run){.level = level, .test_count = CHECK_TEST_COUNT, .value_count = CHECK_VALUE_COUNT};
    for (uint32_t i = 0; i < CHECK_TEST_COUNT; i++)
        run->test[i] = (struct check_test_run){.test = i, .asked = tests >> i & 1};
    for (uint32_t i = 0; i < CHECK_VALUE_COUNT; i++)
        run->value[i].value = i;
}
