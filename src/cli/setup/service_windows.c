/* SPDX-License-Identifier: Apache-2.0
 * The Windows service that `whirr setup` creates, by system calls instead of programs.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/os/service.h"
#include "base/os/words.h"
#include "cli/setup/plan.h"
#include "config/config.h"

static const struct {
    const char *words[8];
    int (*act)(struct error *err);
} steps[] = {
    {{"create", "the", "service", "whirr,", "started", "with", "Windows"}, service_create},
    {{"start", "the", "service", "whirr"}, service_start},
    {{"remove", "the", "service", "whirr"}, service_remove},
};

static int run_step(const struct plan_command *c, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        if (c->count > 2 && strcmp(c->words[0], steps[i].words[0]) == 0 && strcmp(c->words[2], "service") == 0) {
            int rc = steps[i].act(err);
            return rc == -ENOENT && steps[i].act == service_remove ? 0 : rc; /* removed by hand already */
        }
    return 1;
}

static int add_service(struct plan *p, const char *kind, struct error *err)
{
    if (strcmp(kind, "no") == 0)
        return 0;
    int rc = service_check_folder(err);
    if (rc < 0)
        return rc;
    plan_add_command(p, steps[0].words, steps[2].words);
    plan_add_command(p, steps[1].words, NULL);
    return 0;
}

static void print_done(const struct plan *p, struct buf *out)
{
    if (p->command_count && strcmp(p->commands[p->command_count - 1].words[0], steps[1].words[0]) == 0)
        buf_printf(out, "The service is running: whirr status asks it; the address of its page is in %s/whirr.log\n",
                   env_variable(CONFIG_SYSTEM_ROOT));
}

static void print_undone(struct buf *out)
{
    buf_printf(out, "kept           %s (history, tokens, log)\n", env_variable(CONFIG_SYSTEM_ROOT));
}

const struct setup_service setup_service = {
    .of_user = {{"no"},
                "no (a service is made " WORD_AS_ADMINISTRATOR ")",
                "Run whirr as a service? (no; for one, run whirr setup " WORD_AS_ADMINISTRATOR ")"},
    .of_root = {{"system", "no"}, "system or no", "Run whirr as a service? (system, no)"},
    .needs_root = "a service needs the rights of an administrator: run whirr setup " WORD_AS_ADMINISTRATOR
                  ", or start `whirr serve` yourself",
    .add = add_service,
    .step = run_step,
    .done = print_done,
    .undone = print_undone,
};
