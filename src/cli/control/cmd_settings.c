/* SPDX-License-Identifier: Apache-2.0
 * whirr quiet, limit, clocks, fan: reversible changes of GPU settings. Plans and shows them, and chooses who makes them: the
 * helper, or this process as root.
 */
#include "cli/control/change.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"
#include "config/config.h"
#include "config/places.h"
#include "control/control.h"
#include "source/source.h"

/* ---- planning ---- */

int change_simulated(struct cli *cli, const struct snapshot *s, struct error *err)
{
    if (!s->gpu_count || !s->gpus[0].simulated || cli->env.simulated)
        return 0;
    const struct source_ops *ops = cli->ask.source_count == 1 ? source_of_spec(cli->ask.sources[0], NULL) : NULL;
    if (!ops || !ops->simulated)
        return error_set(err, -EINVAL, "its GPUs are simulated: name the same source, like --source sim:scenario=training");
    cli->env.simulated = cli->ask.sources[0];
    return 0;
}

const char *change_dir(const struct cli *cli)
{
    return cli->env.simulated ? PLACE_OF_SIMULATED : cli->settings->lease.dir;
}

/* A sample, and the controls of its GPUs. */
struct controls {
    struct session *session;
    const struct snapshot *s;
    int only; /* the position of the GPU of --gpu, or ALL_GPUS */
};

/* `one`: of several GPUs, one has to be chosen. */
static int controls_open(struct controls *c, struct cli *cli, bool one, struct change_list *l, struct error *err)
{
    *c = (struct controls){.session = session_open(cli, err), .only = ALL_GPUS};
    c->s = c->session ? session_sample(c->session, GROUP_FAST | GROUP_STATIC, err) : NULL;
    int rc = c->s ? session_only(c->session, c->s, &c->only, err) : err->code;
    if (rc < 0)
        return rc;
    if (c->s->gpu_count == 0)
        return error_set(err, -ENODEV, "no GPU was found");
    if (one && c->only == ALL_GPUS && c->s->gpu_count > 1)
        return error_set(err, -EINVAL, "this host has %zu GPUs; choose one with --gpu", c->s->gpu_count);
    rc = change_simulated(cli, c->s, err);
    return rc < 0 ? rc : control_open(&cli->env, &l->set, err);
}

static void controls_close(struct controls *c)
{
    snapshot_unref(c->s);
    session_close(c->session);
}

static bool is_meant(const struct controls *c, size_t position)
{
    return c->only == ALL_GPUS || (size_t)c->only == position;
}

int change_plan(struct cli *cli, enum control_kind kind, const char *text, struct change_list *ret)
{
    struct error err = {0};
    struct controls c;
    *ret = (struct change_list){0};
    int rc = controls_open(&c, cli, text != NULL, ret, &err);
    bool opened = rc == 0;
    for (size_t i = 0; opened && i < c.s->gpu_count; i++) {
        if (!is_meant(&c, i))
            continue;
        rc = text ? plan_setting(ret, &c.s->gpus[i], kind, text, &err) : plan_quiet(ret, &c.s->gpus[i], &err);
        opened = rc == 0 || (!text && c.only == ALL_GPUS); /* quiet does what it can */
    }
    if (opened && ret->count)
        rc = 0;
    controls_close(&c);
    return rc < 0 ? cli_error(cli, &err) : EXIT_FINE;
}

/* Reads every setting that the GPU of --gpu has, or all GPUs; no new values. EXIT_FINE, or prints what is wrong. */
static int change_read(struct cli *cli, struct change_list *ret)
{
    struct error err = {0};
    struct controls c;
    *ret = (struct change_list){0};
    int rc = controls_open(&c, cli, false, ret, &err);
    for (size_t i = 0; rc == 0 && i < c.s->gpu_count; i++) {
        const struct gpu *gpu = &c.s->gpus[i];
        const struct control_gpu *found = is_meant(&c, i) ? control_find(&ret->set, gpu_id_key(&gpu->id)) : NULL;
        for (int kind = 0; found && kind < CONTROL_ADVICE; kind++) {
            struct change change = {.gpu = found, .setting = {.gpu_index = gpu->index, .kind = (enum control_kind)kind}};
            int looked = control_look(found, (enum control_kind)kind, &change.state, NULL);
            change.denied = looked == -EACCES;
            if ((looked == 0 || change.denied) && ret->count < REQUEST_SETTINGS_MAX)
                ret->at[ret->count++] = change;
        }
    }
    controls_close(&c);
    return rc < 0 ? cli_error(cli, &err) : EXIT_FINE;
}

/* ---- showing ---- */

static bool written(const struct change *c, struct control_value v, union answer_value *ret)
{
    control_text(c->setting.kind, c->state.unit, v, ret->text);
    return true;
}

static bool make_now(const struct answer_at *at, union answer_value *ret)
{
    const struct change *c = at->record;
    return c->state.now_known && written(c, c->state.now, ret);
}

static bool make_new(const struct answer_at *at, union answer_value *ret)
{
    const struct change *c = at->record;
    return written(c, c->setting.value, ret);
}

static bool make_least(const struct answer_at *at, union answer_value *ret)
{
    const struct change *c = at->record;
    return written(c, (struct control_value){.low = c->state.least, .high = c->state.least}, ret);
}

static bool make_most(const struct answer_at *at, union answer_value *ret)
{
    const struct change *c = at->record;
    return written(c, (struct control_value){.low = c->state.most, .high = c->state.most}, ret);
}

static void same_as(const struct change *c, struct buf *out)
{
    c->gpu->source->ops->control->command(c->gpu->source, c->gpu->at, c->setting.kind, c->setting.value, out);
}

static void write_command(const struct answer_at *at, struct json_writer *j)
{
    AUTO_BUF struct buf command = BUF(2048);
    same_as(at->record, &command);
    jw_text(j, command.len ? command.at : NULL);
}

ANSWER_MAKER(make_what, struct change, word, control_name(of->setting.kind));
ANSWER_MAKER(make_permitted, struct change, yes, !of->denied);

ANSWER_TABLE(setting_answer, struct change)
{
    FIELD(INT, "gpu_index", setting.gpu_index, NULL);
    MADE(WORD, "what", make_what, NULL);
    MADE(TEXT, "now", make_now, NULL, OR_NULL);
    MADE(TEXT, "least", make_least, NULL);
    MADE(TEXT, "most", make_most, NULL);
    MADE(BOOL, "permitted", make_permitted, NULL);
}

ANSWER_TABLE(settings_answer, struct change_list)
{
    OBJECTS("settings", at, count, setting_answer, NULL);
}

ANSWER_TABLE(change_answer, struct change)
{
    FIELD(INT, "gpu_index", setting.gpu_index, NULL);
    FIELD(TEXT, "gpu", setting.gpu, NULL);
    MADE(WORD, "what", make_what, NULL);
    MADE(TEXT, "now", make_now, NULL, OR_NULL);
    MADE(TEXT, "new", make_new, NULL);
    MADE(TEXT, "least", make_least, NULL);
    MADE(TEXT, "most", make_most, NULL);
    WRITER(TEXT, "command", write_command, "The same with another tool", OR_NULL);
    MADE(BOOL, "permitted", make_permitted, NULL);
}

struct told_changes {
    const struct change *at;
    size_t count;
    const struct lease *lease; /* NULL: a dry run */
};

ANSWER_TABLE(changes_answer, struct told_changes)
{
    OBJECTS("changes", at, count, change_answer, NULL);
    VIA(OBJECT, "lease", lease, lease_answer, NULL, MAYBE);
}

static int show_changes(struct cli *cli, const struct change_list *l, const struct lease *lease)
{
    return show_answer(cli, &changes_answer, &(struct told_changes){l->at, l->count, lease});
}

/* "  (range 150 W to 600 W)" and a line break; of a level only that. */
static void change_range(struct buf *out, const struct change *c)
{
    const struct control_state *s = &c->state;
    char least[CONTROL_TEXT_SIZE], most[CONTROL_TEXT_SIZE];
    control_text(c->setting.kind, s->unit, (struct control_value){.low = s->least, .high = s->least}, least);
    control_text(c->setting.kind, s->unit, (struct control_value){.low = s->most, .high = s->most}, most);
    if (c->setting.kind != CONTROL_LEVEL && s->least > 0)
        buf_printf(out, "  (range %s to %s)", least, most);
    else if (c->setting.kind != CONTROL_LEVEL)
        buf_printf(out, "  (at most %s)", most);
    buf_char(out, '\n');
}

static void show_plan(struct buf *out, const struct change_list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct change *c = &l->at[i];
        const struct request_setting *s = &c->setting;
        char now[CONTROL_TEXT_SIZE], new[CONTROL_TEXT_SIZE];
        control_text(s->kind, c->state.unit, c->state.now, now);
        control_text(s->kind, c->state.unit, s->value, new);
        buf_printf(out, "GPU %d  %s  %s -> %s", s->gpu_index, control_words(s->kind), c->state.now_known ? now : "not known", new);
        change_range(out, c);
        AUTO_BUF struct buf command = BUF(2048);
        same_as(c, &command);
        if (command.len)
            buf_printf(out, "  Same as: %s\n", command.at);
        control_hints(s->kind, &c->state, s->value, c->draw_mw, out);
    }
}

static int show_dry_run(struct cli *cli, const struct change_list *l, struct wall until)
{
    AUTO_BUF struct buf out = BUF(1 << 20);
    char end[MOMENT_TEXT_SIZE];
    if (cli->json)
        return show_changes(cli, l, NULL);
    page_simulated_line(&out, &cli->page, cli->env.simulated);
    show_plan(&out, l);
    moment_format(until, clock_wall(cli->env.clock), end);
    if (until.ms)
        buf_printf(&out, "Until %s, then back.\n", end);
    buf_text(&out, l->at[0].denied ? "Nothing was changed (dry run); changing it needs root or whirr-control.\n"
                                   : "Nothing was changed (dry run).\n");
    return show_text(&out);
}

static int show_made(struct cli *cli, const struct change_list *l, const struct lease *lease)
{
    AUTO_BUF struct buf out = BUF(1 << 20);
    char until[MOMENT_TEXT_SIZE];
    if (cli->json)
        return show_changes(cli, l, lease);
    page_simulated_line(&out, &cli->page, cli->env.simulated);
    for (size_t i = 0; i < l->count; i++) {
        const struct change *c = &l->at[i];
        char now[CONTROL_TEXT_SIZE], new[CONTROL_TEXT_SIZE];
        control_text(c->setting.kind, c->state.unit, c->state.now, now);
        buf_printf(&out, "GPU %d: %s %s (was %s)\n", c->setting.gpu_index, control_words(c->setting.kind),
                   control_text(c->setting.kind, c->state.unit, c->setting.value, new), c->state.now_known ? now : "stock");
        control_hints(c->setting.kind, &c->state, c->setting.value, c->draw_mw, &out);
    }
    if (lease && lease->until.ms)
        moment_format(lease->until, clock_wall(cli->env.clock), until);
    if (lease)
        buf_printf(&out, "Lease %s%s%s. To undo it: whirr lease end %s\n", lease->id, lease->until.ms ? ", until " : "",
                   lease->until.ms ? until : "", lease->id);
    return show_text(&out);
}

/* ---- applying ---- */

struct times {
    struct wall until;  /* ms 0: no end */
    int64_t confirm_ms; /* 0: not requested */
};

static int read_times(struct cli *cli, bool command, struct times *ret)
{
    const char *span = options_value(cli->options, "for", NULL), *until = options_value(cli->options, "until", NULL);
    struct wall now = clock_wall(cli->env.clock);
    int64_t ms = 0;
    *ret = (struct times){0};
    if ((span != NULL) + (until != NULL) + command > 1)
        return cli_usage(cli, "choose one of --for, --until and a command");
    int status = options_span(cli, "for", &ms);
    if (status != EXIT_FINE)
        return status;
    if (until && !moment_parse_ahead(str_from(until), now, now, MOMENT_LOCAL, &ret->until))
        return cli_usage(cli, "invalid value '%s' for --until; expected " MOMENT_AHEAD_SYNTAX, until);
    if (span)
        ret->until.ms = now.ms + ms;
    return options_span(cli, "confirm", &ret->confirm_ms);
}

static void fill_request(const struct change_list *l, struct request *r)
{
    r->count = l->count;
    for (size_t i = 0; i < l->count; i++)
        r->settings[i] = l->at[i].setting;
}

/* Keeps the change if confirmed, or undoes it. */
static int confirm_there(struct cli *cli, int fd, const struct lease *l, const struct times *t)
{
    struct request *r = calloc(1, sizeof *r);
    struct error err = {0};
    char words[SETTINGS_WORDS];
    if (!r)
        return cli_fail("out of memory");
    *r = (struct request){.op = hold_confirmed(t->confirm_ms) ? REQUEST_CONFIRM : REQUEST_END, .until = t->until};
    memcpy(r->id, l->id, sizeof r->id);
    int rc = helper_ask(fd, r, NULL, words, &err);
    bool kept = r->op == REQUEST_CONFIRM;
    free(r);
    if (rc < 0)
        return cli_fail("%s", err.text);
    (void)cli;
    puts(kept ? "Kept." : "Not confirmed: the old values are back.");
    return kept ? EXIT_FINE : EXIT_FAILED;
}

static int make_there(struct cli *cli, int fd, const struct change_list *l, const struct times *t, const char *const *command)
{
    AUTO_FREE struct request *r = calloc(1, sizeof *r);
    AUTO_FREE struct lease *lease = calloc(1, sizeof *lease);
    struct error err = {0};
    char words[SETTINGS_WORDS];
    if (!r || !lease)
        return cli_fail("out of memory");
    fill_request(l, r);
    r->until = t->until;
    if (t->confirm_ms)
        r->until.ms = clock_wall(cli->env.clock).ms + t->confirm_ms;
    r->hold = command != NULL;
    if (command)
        str_copy_clean(r->command, sizeof r->command, str_from(command[0]));
    if (helper_ask(fd, r, lease, words, &err) < 0)
        return cli_fail("%s", err.text);
    if (command)
        return hold_there(cli, fd, lease, command);
    int status = show_made(cli, l, lease);
    return t->confirm_ms ? confirm_there(cli, fd, lease, t) : status;
}

static bool is_fan(const struct change_list *l)
{
    return l->count && l->at[0].setting.kind == CONTROL_FAN && !l->at[0].setting.value.stock;
}

static int make_here(struct cli *cli, struct change_list *l, const struct times *t, const char *const *command)
{
    AUTO_FREE struct lease *lease = calloc(1, sizeof *lease);
    struct error err = {0};
    if (!lease)
        return cli_fail("out of memory");
    lease_init(lease, LEASE_SETTING, 0, clock_wall(cli->env.clock));
    lease->until = t->until;
    /* A simulated GPU knows the end of a change itself. */
    bool simulated = cli->env.simulated != NULL;
    if (command || t->confirm_ms || is_fan(l) || (t->until.ms && !simulated))
        return hold_here(cli, lease, l, command, t->confirm_ms);
    struct settings_holder k;
    int rc = holder_open(&k, &cli->env, change_dir(cli), -1, &err);
    if (rc < 0)
        return cli_fail("%s", err.text);
    for (size_t i = 0; i < l->count && rc == 0; i++) {
        const struct request_setting *s = &l->at[i].setting;
        rc = lease_set_plan(lease, control_find(&k.set, s->gpu), s->gpu_index, s->kind, s->value, &err);
    }
    if (rc == 0)
        rc = holder_begin(&k, lease, false, &err);
    for (size_t i = 0; i < l->count && rc == 0 && simulated && t->until.ms; i++)
        rc = sim_put_back_at(control_find(&k.set, l->at[i].setting.gpu), l->at[i].setting.kind, t->until, &err);
    holder_close(&k);
    return rc < 0 ? cli_fail("%s", err.text) : show_made(cli, l, lease);
}

static bool all_stock(const struct change_list *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct change *c = &l->at[i];
        struct control_value stock = c->state.exact_stock ? c->state.stock_value : (struct control_value){.stock = true};
        if (!control_equal(c->setting.kind, c->setting.value, stock))
            return false;
    }
    return true;
}

/* Returns fans to automatic control directly, so that neither a helper nor a lock can get in the way. False: more is left to do. */
static bool give_fans_back(const struct change_list *l)
{
    bool all = l->count > 0;
    for (size_t i = 0; i < l->count; i++)
        all &= l->at[i].setting.kind == CONTROL_FAN && !l->at[i].denied &&
               control_write(l->at[i].gpu, CONTROL_FAN, l->at[i].setting.value, NULL) == 0;
    return all;
}

/* Restores factory settings: needs no lease because there is nothing to undo. */
static int make_stock(struct cli *cli, const struct change_list *l, int fd)
{
    AUTO_FREE struct request *r = calloc(1, sizeof *r);
    struct error err = {0};
    char words[SETTINGS_WORDS];
    struct settings_holder k;
    int rc = r ? 0 : error_set(&err, -ENOMEM, "out of memory");
    bool back = give_fans_back(l);
    if (rc == 0)
        fill_request(l, r);
    if (rc == 0 && fd >= 0) {
        r->op = REQUEST_STOCK;
        rc = helper_ask(fd, r, NULL, words, &err);
    } else if (rc == 0 && (rc = holder_open(&k, &cli->env, change_dir(cli), -1, &err)) == 0) {
        rc = holder_lock(&k, &err);
        for (size_t i = 0; i < l->count && rc == 0; i++)
            rc = lease_set_stock(&k.dir, &k.set, control_find(&k.set, l->at[i].setting.gpu), l->at[i].setting.kind, &err);
        holder_close(&k);
    }
    if (rc < 0 && back)
        fprintf(stderr, "whirr: the fan is automatic; its lease could not be ended: %s\n", err.text);
    return rc < 0 && !back ? cli_fail("%s", err.text) : show_made(cli, l, NULL);
}

/* Applies them as --dry-run, --for, --until and --confirm say; while the command runs, if any (NULL). Returns the exit status. */
static int change_make(struct cli *cli, struct change_list *l, const char *const *command)
{
    struct times t;
    int status = read_times(cli, command != NULL, &t);
    if (status != EXIT_FINE)
        return status;
    if (options_has(cli->options, "dry-run"))
        return show_dry_run(cli, l, t.until);
    bool denied = false;
    for (size_t i = 0; i < l->count; i++)
        denied |= l->at[i].denied;
    /* A process that has permission and keeps running needs no helper. */
    bool stays = command || t.confirm_ms;
    AUTO_CLOSE int fd = !cli->env.simulated && (denied || !stays) ? helper_connect() : -1;
    if (fd < 0 && denied)
        return cli_fail(CHANGE_NEEDS_ROOT);
    if (!command && !t.until.ms && !t.confirm_ms && all_stock(l))
        return make_stock(cli, l, fd);
    return fd >= 0 ? make_there(cli, fd, l, &t, command) : make_here(cli, l, &t, command);
}

int change_end(struct cli *cli, const char *id)
{
    struct error err = {0}, there = {0};
    char words[SETTINGS_WORDS] = "";
    struct request *r = calloc(1, sizeof *r);
    AUTO_CLOSE int fd = r && !cli->env.simulated ? helper_connect() : -1;
    int rc = -ENOENT;
    if (fd >= 0) {
        r->op = REQUEST_END;
        str_copy(r->id, sizeof r->id, str_from(id));
        rc = helper_ask(fd, r, NULL, words, &there);
    }
    free(r);
    struct settings_holder k;
    if (rc < 0 && (rc = holder_open(&k, &cli->env, change_dir(cli), -1, &err)) == 0) {
        AUTO_LEASE_LIST struct lease_list list = {0};
        rc = holder_lock(&k, &err);
        rc = rc < 0 ? rc : lease_dir_list(&k.dir, clock_wall(cli->env.clock), &list, &err);
        struct lease *l = rc == 0 ? lease_list_find(&list, id) : NULL;
        rc = l ? lease_set_end(&k.dir, &k.set, l, words, &err) : rc;
        holder_close(&k);
    }
    if (rc < 0)
        return cli_fail("%s", there.text[0] ? there.text : err.text);
    printf("Lease %s has ended: %s.\n", id, words[0] ? words : "the old values are back");
    return EXIT_FINE;
}

/* ---- the commands ---- */

#define SETTING_EXITS "0 fine; 1 it failed or was refused; 2 wrong usage or configuration; with a command, the command's own."
#define WAY_BACK                                                                                                                   \
    "What was set before is written down first and put back at the end: after --for or --until, when the command ends, with "      \
    "`whirr lease end ID`, and also when whirr is killed. A value that another program has set in the meantime is left as it is. " \
    "Without any of these it stays until `whirr lease end ID`, or a reboot. Needs root, or the helper whirr-control with "         \
    "[control] allow (docs/leases.md)."

static const struct option_spec options[] = {
    {.name = "for", .argument = "DURATION", .help = "Put the old values back after this time"},
    {.name = "until", .argument = "TIME", .help = "Put the old values back at this time, like 08:00"},
    {.name = "dry-run", .help = "Show old value, new value, range and the equivalent command; change nothing"},
    {.name = "confirm", .argument = "DURATION", .help = "Undo it after this time unless you press Enter"},
};

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
        return show_answer(cli, &settings_answer, &now);
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

/* The watchdog of a command that holds settings: see control/control.h. */
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
