/* SPDX-License-Identifier: Apache-2.0
 * Rules from the text of a configuration, for tests.
 */
#pragma once

#include <stdio.h>

#include "subject.h"

#include "alert/alert.h"
#include "base/cleanup.h"

static struct config_problems rule_problems;

/* 0 and the rules, or -EINVAL and rule_problems. Both must be freed. */
static inline int read_rules(const char *text, struct config **ret_config, struct alert_rules **ret)
{
    static char path[64];
    struct env env;
    env_init_system(&env);
    snprintf(path, sizeof path, "/tmp/whirr-rules-XXXXXX");
    AUTO_CLOSE int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    const struct config_inputs inputs = {.env = &env, .file = path};
    int result = config_load(&inputs, ret_config, &rule_problems);
    if (!result)
        result = alert_rules_new(*ret_config, &env, &rule_problems, ret);
    unlink(path);
    return result;
}

static inline struct alert_rules *rules_of(const char *text, struct config **ret_config)
{
    struct alert_rules *rules = NULL;
    if (read_rules(text, ret_config, &rules)) {
        for (size_t i = 0; i < rule_problems.count; i++)
            print_error("%s: %s\n%s", rule_problems.list[i].where, rule_problems.list[i].text, rule_problems.list[i].excerpt);
        fail();
    }
    return rules;
}
