/* SPDX-License-Identifier: Apache-2.0
 * Loads the configuration for commands.
 */
#include "cli/settings.h"

#include <stdio.h>
#include <unistd.h>

int settings_read(const struct cli *cli, const struct config_flag *flags, size_t flag_count, struct config **ret,
                  struct config_problems *problems)
{
    const struct config_inputs inputs = {
        .env = &cli->env,
        .file = options_value(&cli->options, "config", NULL),
        .environment = (const char *const *)environ,
        .flags = flags,
        .flag_count = flag_count,
    };
    return config_load(&inputs, ret, problems);
}

int settings_load(const struct cli *cli, const struct config_flag *flags, size_t flag_count, struct config **ret)
{
    struct config_problems problems;
    int rc = settings_read(cli, flags, flag_count, ret, &problems);
    for (size_t i = 0; i < problems.count; i++)
        fprintf(stderr, "whirr: %s: %s%s\n%s", problems.list[i].where, problems.list[i].warning ? "warning: " : "",
                problems.list[i].text, problems.list[i].excerpt);
    if (problems.left_out)
        fprintf(stderr, "whirr: and %zu more problems\n", problems.left_out);
    return rc == 0 ? EXIT_FINE : EXIT_FAILED;
}
