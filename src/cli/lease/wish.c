/* SPDX-License-Identifier: Apache-2.0
 * Options of commands that take leases.
 */
#include "cli/lease/wish.h"

#include "base/cleanup.h"
#include "base/words.h"

bool wish_given(const struct cli *cli)
{
    static const char *const names[] = {"gpus", "vram", "exclusive", "gpu"};
    bool given = false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        given |= options_has(cli->options, names[i]);
    return given;
}

int wish_duration(const struct cli *cli, const char *name, int64_t *ret_ms)
{
    const char *text = options_value(cli->options, name, NULL);
    if (text && !duration_parse(str_from(text), ret_ms))
        return cli_usage(cli, "invalid value '%s' for --%s; expected " DURATION_SYNTAX, text, name);
    return EXIT_FINE;
}

int wish_read(struct cli *cli, struct lease_taker *t)
{
    const char *gpus = options_value(cli->options, "gpus", "1"), *vram = options_value(cli->options, "vram", NULL);
    int64_t count;
    if (!str_to_i64(str_from(gpus), &count) || count < 1 || count > LEASE_GPUS_MAX)
        return cli_usage(cli, "invalid value '%s' for --gpus; expected a number from 1 to %d", gpus, LEASE_GPUS_MAX);
    int status = vram ? cli_size(cli, "vram", vram, &t->wish.mem_bytes) : EXIT_FINE;
    if (status != EXIT_FINE)
        return status;
    t->wish.gpus_wanted = (int)count;
    t->wish.exclusive = !vram || options_has(cli->options, "exclusive");
    str_copy_clean(t->wish.note, sizeof t->wish.note, str_from(options_value(cli->options, "note", "")));
    return wish_duration(cli, "timeout", &t->timeout_ms);
}
