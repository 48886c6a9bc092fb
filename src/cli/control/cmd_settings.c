/* SPDX-License-Identifier: Apache-2.0
 * whirr quiet, limit, clocks, fan: reversible changes of GPU settings.
 */
#include "base/cleanup.h"
#include "cli/control/change.h"
#include "config/config.h"
#include "control/holder.h"
#include "source/source.h"

#define SETTING_EXITS "0 fine; 1 it failed or was refused; 2 wrong usage or configuration; with a command, the command's own."
#define WAY_BACK                                                                                                                   \
    "What was set before is written down first and put back at the end: after --for or --until, when the command ends, with "      \
    "`whirr lease end ID`, and also when whirr is killed. A value that another program has set in the meantime is left as it is. " \
    "Without any of these it stays until `whirr lease end ID`, or a reboot. Needs root, or the helper whirr-control with "         \
    "[control] allow (docs/leases.md)."

static const struct option_spec options[] = {OPTIONS_OF_CHANGES};

static int setting_run(struct cli *cli, enum control_kind kind)
{
    const struct options *o = cli->options;
    AUTO_CHANGES struct change_list changes = {0};
    int status = change_plan(cli, kind, o->arguments[0], &changes);
    return status == EXIT_FINE ? change_make(cli, &changes, o->argument_count > 1 ? &o->arguments[1] : NULL) : status;
}

static int limit_run(struct cli *cli)
{
    return setting_run(cli, CONTROL_POWER);
}

static int clocks_run(struct cli *cli)
{
    return setting_run(cli, CONTROL_CLOCKS);
}

static int fan_run(struct cli *cli)
{
    return setting_run(cli, CONTROL_FAN);
}

static int quiet_run(struct cli *cli)
{
    const struct options *o = cli->options;
    AUTO_CHANGES struct change_list changes = {0};
    int status = change_plan(cli, CONTROL_POWER, NULL, &changes);
    return status == EXIT_FINE ? change_make(cli, &changes, o->argument_count ? o->arguments : NULL) : status;
}

/* ---- whirr set: what is set ---- */

static void settings_table(struct buf *out, const struct change_list *l)
{
    char now[CONTROL_TEXT_SIZE];
    for (size_t i = 0; i < l->count; i++) {
        const struct change *c = &l->at[i];
        const struct control_state *s = &c->state;
        enum control_kind kind = c->setting.kind;
        control_text(kind, s->unit, s->now, now);
        buf_printf(out, "GPU %d  %-15s %s", c->setting.gpu_index, control_words(kind), s->now_known ? now : "not known");
        change_range(out, c);
    }
    if (!l->count)
        buf_text(out, "These GPUs have no settings that whirr can change.\n");
    else
        buf_text(out,
                 "To change one: whirr set power 330W --for 2h; what it would do: --dry-run; what whirr has set: whirr lease\n");
}

static int set_run(struct cli *cli)
{
    static const char *const words[] = {"quiet", "power", "clocks", "fan", "best"};
    AUTO_CHANGES struct change_list now = {0};
    AUTO_BUF struct buf out = BUF(1 << 20);
    if (cli->options->argument_count)
        return cli_unknown(cli, "setting", cli->options->arguments[0], words, ARRAY_LEN(words));
    int status = change_read(cli, &now);
    if (status != EXIT_FINE)
        return status;
    if (cli->json)
        return change_show(cli, &now);
    page_simulated_line(&out, &cli->page, cli->env.simulated);
    settings_table(&out, &now);
    return show_text(&out);
}

const struct command command_set = {
    .name = "set",
    .group = HELP_ACT,
    .summary = "Set quiet, power, clocks or fan of a GPU, for a time, then back",
    .details = "On its own it shows what each GPU is set to, and the range. " WAY_BACK,
    .arguments = "[quiet|power|clocks|fan|best]",
    .arguments_max = 1,
    .examples = {{"whirr set power 330W --for 2h", "at most 330 W for two hours"},
                 {"whirr set quiet --until 08:00", "quieter until the morning"},
                 {"whirr set best --rate it/s -- python train.py", "find the power limit that costs little speed"}},
    .run = set_run,
};

const struct command command_quiet = {
    .name = "quiet",
    .place = "set quiet",
    .group = HELP_ACT,
    .summary = "Keep GPUs quieter for a time or a command",
    .details =
        "Lowers the power limit to 70% of stock, or below what the GPU draws now if that is less, within its range; and, where "
        "the GPU has one, the target that its own fan control follows. " WAY_BACK,
    .exits = SETTING_EXITS,
    .arguments = "[-- COMMAND...]",
    .arguments_max = ARGUMENTS_MAX,
    OPTIONS(options),
    .examples = {{"whirr quiet --for 2h", "two quiet hours"},
                 {"whirr quiet --gpu 1 --until 08:00", "one GPU, until the morning"},
                 {"whirr quiet --dry-run", "what would be changed"}},
    .run = quiet_run,
};

const struct command command_limit = {
    .name = "limit",
    .place = "set power",
    .hidden = true,
    .group = HELP_ACT,
    .summary = "Set the power limit of a GPU, with a way back",
    .details = WAY_BACK,
    .exits = SETTING_EXITS,
    .arguments = "WATTS|PERCENT|stock [-- COMMAND...]",
    .arguments_min = 1,
    .arguments_max = ARGUMENTS_MAX,
    OPTIONS(options),
    .examples = {{"whirr set power 330W --for 2h", "at most 330 W for two hours"},
                 {"whirr set power 75% -- python train.py", "75% of stock while it runs"},
                 {"whirr set power stock", "what the GPU came with"}},
    .run = limit_run,
};

const struct command command_clocks = {
    .name = "clocks",
    .place = "set clocks",
    .hidden = true,
    .group = HELP_ACT,
    .summary = "Set the clocks of a GPU, with a way back",
    .details =
        "In MHz. Works on laptops, too, whose power limit belongs to the firmware. GPUs that have performance levels instead take "
        "low, high and stock. Where the driver does not say which clocks are locked, whirr remembers, and unlocks them at the "
        "end. " WAY_BACK,
    .exits = SETTING_EXITS,
    .arguments = "MIN-MAX|MAX|stock [-- COMMAND...]",
    .arguments_min = 1,
    .arguments_max = ARGUMENTS_MAX,
    OPTIONS(options),
    .examples = {{"whirr set clocks 1400-1800 --for 1h", "between 1400 and 1800 MHz"},
                 {"whirr set clocks 1800 -- ./render", "at most 1800 MHz while it runs"},
                 {"whirr set clocks stock", "without a limit"}},
    .run = clocks_run,
};

const struct command command_fan = {
    .name = "fan",
    .place = "set fan",
    .hidden = true,
    .group = HELP_ACT,
    .summary = "Set a fixed fan speed, watched, or give the fan back",
    .details =
        "A fixed speed lasts only while whirr runs and sees the temperature: from 80 °C on, or near the GPU's own limit, or when "
        "the temperature can't be read, the fan is automatic again. `whirr quiet` is the safer way: it leaves the fan to the "
        "firmware. " WAY_BACK,
    .exits = SETTING_EXITS,
    .arguments = "PERCENT|auto [-- COMMAND...]",
    .arguments_min = 1,
    .arguments_max = ARGUMENTS_MAX,
    OPTIONS(options),
    .examples = {{"whirr set fan 45% --for 30m", "45% for half an hour"},
                 {"whirr set fan 60% -- ./benchmark", "60% while it runs"},
                 {"whirr set fan auto", "back to the firmware"}},
    .run = fan_run,
};

/* The watchdog of a command that holds settings: see control/holder.h. */
static int recover_run(struct cli *cli)
{
    const struct source_ops *ops = cli->ask.source_count ? source_of_spec(cli->ask.sources[0], NULL) : NULL;
    if (ops && ops->simulated)
        cli->env.simulated = cli->ask.sources[0];
    return watchdog_run(&cli->env, change_dir(cli)) < 0 ? EXIT_FAILED : EXIT_FINE;
}

const struct command command_lease_recover = {
    .name = "lease-recover",
    .group = HELP_ACT,
    .summary = "Undo the settings of programs that have ended",
    .hidden = true,
    .run = recover_run,
};
