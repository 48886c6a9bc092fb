/* SPDX-License-Identifier: Apache-2.0
 * Replaces commands and parts that a system lacks: each says so in one sentence.
 */
#include <errno.h>

#include "cli/command.h"
#include "cli/control/change.h"
#include "cli/guard/guard.h"

int guard_socket_open(struct guard *g, const char *name, struct guard_socket **ret, struct error *err)
{
    (void)g, (void)name, (void)ret;
    return error_set(err, -ENOSYS, "whirr takes no workers off GPUs on this system yet");
}

void guard_socket_close(struct guard_socket *s)
{
    (void)s;
}

static int no_settings(void)
{
    return cli_fail("whirr doesn't change settings of GPUs on this system yet");
}

int hold_here(struct cli *cli, struct lease *plan, const struct change_list *l, const char *const *command, int64_t confirm_ms)
{
    (void)cli, (void)plan, (void)l, (void)command, (void)confirm_ms;
    return no_settings();
}

int hold_there(struct cli *cli, int fd, const struct lease *l, const char *const *command)
{
    (void)cli, (void)fd, (void)l, (void)command;
    return no_settings();
}

int tune_measure(const struct tune_plan *plan, const char *const *command, struct tune_result *ret, struct error *err)
{
    (void)plan, (void)command, (void)ret;
    return error_set(err, -ENOSYS, "whirr doesn't change settings of GPUs on this system yet");
}

bool hold_confirmed(int64_t within_ms)
{
    (void)within_ms;
    return false;
}

void hold_signals(sigset_t *set, sigset_t *before)
{
    (void)set, (void)before;
}

int hold_start(const char *const *command, const sigset_t *mask, int out, pid_t *ret)
{
    (void)command, (void)mask, (void)out, (void)ret;
    return -ENOSYS;
}
