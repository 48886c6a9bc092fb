/* SPDX-License-Identifier: Apache-2.0
 * A remedy becomes a lease of settings: the only file of remedies that knows how those are made.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/control/change.h"
#include "cli/remedy/remedy_cli.h"
#include "control/holder.h"

int act_plan(struct cli *cli, const struct snapshot *s, const struct gpu *gpu, enum remedy_code code, struct change_list *ret,
             struct error *err)
{
    int rc = change_simulated(cli, s, err);
    if (rc == 0)
        rc = control_open(&cli->env, &ret->set, err);
    if (rc < 0)
        return rc;
    switch (code) {
    case REMEDY_QUIET: return plan_quiet(ret, gpu, err);
    case REMEDY_STOCK_LIMIT: return plan_setting(ret, gpu, CONTROL_POWER, "stock", err);
    case REMEDY_FAN_AUTO: return plan_setting(ret, gpu, CONTROL_FAN, "auto", err);
    case REMEDY_RESET_CLOCKS: return plan_setting(ret, gpu, CONTROL_CLOCKS, "stock", err);
    default: return error_set(err, -EOPNOTSUPP, "whirr can't do that itself");
    }
}

bool act_is_denied(const struct cli *cli, const struct change_list *l)
{
    bool denied = false;
    for (size_t i = 0; i < l->count; i++)
        denied |= l->at[i].denied;
    AUTO_CLOSE int fd = denied && !cli->env.simulated ? helper_connect() : -1;
    return denied && fd < 0;
}

static int begin_there(int fd, const struct change_list *l, struct wall until, struct lease *ret, struct error *err)
{
    AUTO_FREE struct request *r = calloc(1, sizeof *r);
    char words[SETTINGS_WORDS];
    if (!r)
        return error_set(err, -ENOMEM, "out of memory");
    *r = (struct request){.op = REQUEST_SET, .until = until, .count = l->count};
    for (size_t i = 0; i < l->count; i++)
        r->settings[i] = l->at[i].setting;
    str_copy(r->command, sizeof r->command, STR("whirr do"));
    return helper_ask(fd, r, ret, words, err);
}

int act_begin(struct cli *cli, const struct change_list *l, struct wall *until, struct lease *ret, struct error *err)
{
    bool simulated = cli->env.simulated != NULL;
    AUTO_CLOSE int fd = simulated ? -1 : helper_connect();
    if (fd >= 0)
        return begin_there(fd, l, *until, ret, err);
    struct settings_holder k;
    if (!simulated) /* this process ends, and no other one would see to it */
        until->ms = 0;
    lease_init(ret, LEASE_SETTING, 0, clock_wall(cli->env.clock));
    ret->until = *until;
    str_copy(ret->command, sizeof ret->command, STR("whirr do"));
    int rc = holder_open(&k, &cli->env, change_dir(cli), -1, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < l->count && rc == 0; i++) {
        const struct request_setting *s = &l->at[i].setting;
        rc = lease_set_plan(ret, control_find(&k.set, s->gpu), s->gpu_index, s->kind, s->value, err);
    }
    if (rc == 0)
        rc = holder_begin(&k, ret, false, err);
    for (size_t i = 0; i < l->count && rc == 0 && simulated && until->ms; i++)
        rc = sim_put_back_at(control_find(&k.set, l->at[i].setting.gpu), l->at[i].setting.kind, *until, err);
    holder_close(&k);
    return rc;
}

int act_end(struct cli *cli, const struct lease *l)
{
    if (l->simulated && !cli->env.simulated)
        cli->env.simulated = SIMULATED_ALL;
    int status = change_end(cli, l->id);
    if (cli->env.simulated && strcmp(cli->env.simulated, SIMULATED_ALL) == 0)
        cli->env.simulated = NULL;
    return status;
}
