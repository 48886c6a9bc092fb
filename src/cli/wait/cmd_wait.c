/* SPDX-License-Identifier: Apache-2.0
 * whirr wait: waits until a program ends, a condition of the alert language holds, or a GPU has room. Programs of other hosts and
 * of the simulator are looked for in samples.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alert/expr/expr.h"
#include "alert/notify/desktop.h"
#include "alert/notify/notify.h"
#include "ask/ask_fit.h"
#include "ask/ask_lease.h"
#include "ask/session.h"
#include "ask/settings.h"
#include "base/cleanup.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "cli/notify/notify.h"
#include "cli/programs.h"
#include "cli/wait/wait.h"
#include "format/process_rows.h"

/* ---- --notify ---- */

/* Without a sentence it only finds out whether it can be reached. */
static int send_to(struct cli *cli, const struct config_notify *c, const char *sentence)
{
    struct alert_notice notice;
    struct notifier_result result;
    struct error err = {0};
    struct desktop *session = NULL;
    if (notifier_check(c, &err) < 0)
        return cli_fail("notifier '%s': %s", c->entry.name, err.text);
    if (!sentence && c->type == CONFIG_NOTIFY_DESKTOP && desktop_open(&cli->env, &session, &err) < 0)
        return cli_fail("--notify can't reach anyone: %s\nFor a message to a phone, by mail or chat: whirr notify add",
                        err.code == -ENOMEDIUM ? "there is no desktop session here" : err.text);
    desktop_close(session);
    notify_example(&cli->env, false, "info", "", &notice);
    struct str words = str_trim(str_from(sentence ? sentence : ""));
    str_copy(notice.alert, sizeof notice.alert, str_from("whirr_wait"));
    str_copy(notice.summary, sizeof notice.summary, words);
    str_copy(notice.gpu_name, sizeof notice.gpu_name, str_from(""));
    str_copy(notice.why, sizeof notice.why, str_from("You asked for this with `whirr wait --notify`."));
    notice.gpu_index = -1;
    notice.has_value = false;
    notice.label_count = 0;
    (sentence ? notifier_try : notifier_reach)(&cli->env, c, &notice, &result);
    return result.fine ? EXIT_FINE : cli_fail("cannot reach notifier '%s': %s", c->entry.name, result.error);
}

static const struct config_notify desktop = {.entry.name = "desktop",
                                             .type = CONFIG_NOTIFY_DESKTOP,
                                             .url = "",
                                             .token = "",
                                             .from = "",
                                             .user = "",
                                             .password = "",
                                             .tls_ca = "",
                                             .topic = "",
                                             .discovery = "",
                                             .template = "",
                                             .timeout_ms = 10000};

/* Sends this sentence through the notifier of --notify, or through all (without any: to the desktop). NULL: only whether that can
 * work, before a long wait. EXIT_FINE, or prints what failed. */
static int wait_notify(struct cli *cli, const char *sentence)
{
    const char *name = options_value(cli->options, "notify", NULL);
    struct config *config = NULL;
    int status = settings_load(cli, NULL, 0, &config);
    if (status != EXIT_FINE)
        return status;
    bool found = false, reached = false;
    for (size_t i = 0; i < config->notify_count; i++) {
        if (name && strcmp(config->notify[i].entry.name, name) != 0)
            continue;
        int sent = send_to(cli, &config->notify[i], sentence);
        found = true;
        reached |= sent == EXIT_FINE;
        status = status == EXIT_FINE ? sent : status;
    }
    if (!sentence && reached) /* the others were named; it is worth waiting for this one */
        status = EXIT_FINE;
    if (!found && name)
        status = notify_unknown(config, name, "the configuration");
    else if (!found)
        status = send_to(cli, &desktop, sentence);
    config_free(config);
    return status;
}

/* ---- the end of programs: on a GPU, or anywhere on this host ---- */

static bool is_listed(const struct awaited_list *l, int32_t pid)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->at[i].pid == pid)
            return true;
    return false;
}

static void add_program(struct awaited_list *l, int32_t pid, int64_t start_key, bool here, const char *name)
{
    if (l->count == AWAITED_MAX || is_listed(l, pid))
        return;
    struct awaited *a = &l->at[l->count++];
    *a = (struct awaited){.pid = pid, .start_key = start_key, .handle = here ? end_open(pid) : -1, .status = END_STATUS_UNKNOWN};
    str_copy_clean(a->name, sizeof a->name, str_from(name));
}

/* ---- programs on a GPU ---- */

static void add_rows(const struct cli *cli, struct awaited_list *l, const struct process_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct process *p = rows->rows[i].process;
        char name[AWAITED_NAME_SIZE];
        snprintf(name, sizeof name, "%s%s%s%s%s%s", process_title(p), p->model[0] ? " · " : "", p->model, p->user[0] ? " (" : "",
                 p->user, p->user[0] ? ")" : "");
        add_program(l, p->pid, p->start_key, !rows->rows[i].gpu->simulated && p->visible && !cli->host, name);
    }
}

static void add_of_host(const struct env *env, const char *asked, struct awaited_list *l)
{
    struct program_found found[AWAITED_MAX];
    size_t count = programs_called(env, asked, found, AWAITED_MAX);
    for (size_t i = 0; i < count; i++)
        add_program(l, found[i].pid, 0, true, found[i].name);
}

/* ---- waiting ---- */

static bool is_there(const struct snapshot *s, const struct awaited *a)
{
    for (size_t i = 0; i < s->gpu_count; i++)
        for (size_t k = 0; k < s->gpus[i].process_count; k++) {
            const struct process *p = &s->gpus[i].processes[k];
            if (p->pid == a->pid && (!a->start_key || !p->start_key || p->start_key == a->start_key))
                return true;
        }
    return false;
}

/* Whether all have ended. */
static bool all_ended(struct awaited_list *l, struct session *session, int64_t ms, struct error *err)
{
    bool polled = false, all = true;
    for (size_t i = 0; i < l->count; i++)
        polled |= l->at[i].handle < 0 && !l->at[i].ended;
    AUTO_SNAPSHOT const struct snapshot *s = polled ? session_sample(session, GROUP_QUICK, err) : NULL;
    for (size_t i = 0; i < l->count; i++) {
        struct awaited *a = &l->at[i];
        if (!a->ended && a->handle >= 0)
            a->ended = end_wait(a->handle, all ? ms : 0, &a->status); /* the first that still runs takes the time */
        else if (!a->ended)
            a->ended = s && !is_there(s, a);
        all &= a->ended;
    }
    if (polled && !all)
        pause_ms(ms);
    return all;
}

static int find_programs(struct cli *cli, struct session *session, const char *asked, struct awaited_list *l)
{
    struct error err = {0};
    int only, rc;
    AUTO_PROCESS_ROWS struct process_rows rows = {0};
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_QUICK, &err);
    if (!s || session_only(session, s, &only, &err) < 0)
        return cli_fail("%s", err.text);
    rc = process_rows_find(&rows, s, asked, only, &err);
    if (rc == 0)
        add_rows(cli, l, &rows);
    else if (rc == -ESRCH && !cli->host && only == ALL_GPUS && !(s->gpu_count && s->gpus[0].simulated))
        add_of_host(&cli->env, asked, l);
    if (l->count)
        return EXIT_FINE;
    if (rc != -ESRCH || cli->host)
        return cli_fail("%s", err.text);
    return cli_fail("no running program has the name or PID '%s'\nTo list those on GPUs: whirr ps", asked);
}

static int wait_listed(struct cli *cli, struct session *session, const char *asked, struct awaited_list *l, int64_t timeout_ms,
                       int64_t every_ms)
{
    AUTO_BUF struct buf words = BUF(8192), json = BUF(1 << 16);
    struct mono begin = clock_mono(&clock_system);
    struct error err = {0};
    char text[WORDS_SIZE];
    session_set_max_age(session, every_ms / 2);
    awaited_begin_text(l, asked, &words);
    fputs(words.at, stderr);
    for (;;) {
        int64_t waited_ms = mono_since_ms(clock_mono(&clock_system), begin);
        int64_t left_ms = timeout_ms >= 0 ? timeout_ms - waited_ms : every_ms;
        if (all_ended(l, session, MAX_OF(0, MIN_OF(every_ms, left_ms)), &err))
            break;
        if (err.code)
            return cli_fail("%s", err.text);
        if (timeout_ms >= 0 && mono_since_ms(clock_mono(&clock_system), begin) >= timeout_ms)
            return cli_fail("timed out after %s", words_duration(timeout_ms, text));
    }
    int64_t waited_ms = mono_since_ms(clock_mono(&clock_system), begin);
    AUTO_BUF struct buf end = BUF(8192);
    awaited_end_text(l, asked, waited_ms, &end);
    if (cli->json)
        awaited_json(l, waited_ms, &json);
    int status = show_text(cli->json ? &json : &end);
    int told = options_has(cli->options, "notify") ? wait_notify(cli, end.at) : EXIT_FINE;
    return status != EXIT_FINE ? status : told != EXIT_FINE ? told : awaited_status(l);
}

static int wait_for_programs(struct cli *cli, const char *asked, int64_t timeout_ms, int64_t every_ms)
{
    AUTO_FREE struct awaited_list *l = calloc(1, sizeof *l);
    struct error err = {0};
    struct session *session = l ? session_open(cli, &err) : NULL;
    if (!session)
        return l ? cli_error(cli, &err) : cli_fail("out of memory");
    int status = find_programs(cli, session, asked, l);
    if (status == EXIT_FINE)
        status = wait_listed(cli, session, asked, l, timeout_ms, every_ms);
    session_close(session);
    return status;
}

/* ---- a condition, or room ---- */

enum { INTERVAL_MS = 1000 };
#define IDLE_CONDITION "utilization < 5% for 30s"

struct room_wait {
    struct cli *cli;
    struct expr *until;         /* NULL: only wait for room */
    int64_t hold_ms;            /* how long it must hold */
    int64_t free_bytes;         /* 0: not requested */
    bool named;                 /* --gpu */
    bool any;                   /* one GPU is enough */
    struct mono since[GPU_MAX]; /* when it began to hold, by index; ns 0: it does not */
};

/* Splits "CONDITION for 5m": returns the condition, sets *hold_ms. */
static struct str cut_hold(struct str text, int64_t *hold_ms)
{
    static const char mark[] = " for ";
    const char *found = NULL;
    for (size_t i = 0; i + sizeof mark - 1 <= text.len; i++)
        if (memcmp(text.at + i, mark, sizeof mark - 1) == 0)
            found = text.at + i;
    if (!found)
        return text;
    struct str rest = {found + sizeof mark - 1, text.len - (size_t)(found - text.at) - (sizeof mark - 1)};
    return duration_parse(str_trim(rest), hold_ms) ? str_trim((struct str){text.at, (size_t)(found - text.at)}) : text;
}

static int read_condition(struct room_wait *w, const char *text)
{
    struct expr_error err;
    struct str condition = cut_hold(str_trim(str_from(text)), &w->hold_ms);
    int rc = expr_parse(condition, &w->until, &err);
    if (rc == 0 && expr_scope(w->until) == SCOPE_PROCESS)
        return cli_usage(w->cli, "--when is about GPUs and the host; it can't use names of processes");
    if (rc == 0)
        return EXIT_FINE;
    if (rc != -EINVAL)
        return cli_fail("out of memory");
    AUTO_BUF struct buf excerpt = BUF(4096);
    expr_caret(&excerpt, condition, &err, 4);
    cli_fail("invalid condition for --when: column %d: %s", err.column, err.text);
    fputs(buf_view(&excerpt).at, stderr);
    return EXIT_USAGE;
}

static struct reading free_of(struct reading free_bytes, struct reading total, struct reading used)
{
    if (free_bytes.state != READING_OK && total.state == READING_OK && used.state == READING_OK)
        return reading_ok(total.value - used.value);
    return free_bytes;
}

static bool has_room(const struct room_wait *w, const struct gpu *gpu)
{
    struct reading room = gpu->mem_free_bytes;
    if (!gpu_shares_memory(gpu)) /* used memory excludes what programs of the host hold */
        room = free_of(room, gpu->mem_total_bytes, gpu->mem_used_bytes);
    return !w->free_bytes || (room.state == READING_OK && room.value >= w->free_bytes);
}

/* Whether the GPU accepts work, by the same rules as `whirr fit`, and no lease has claimed the room. */
static bool may_have(const struct room_wait *w, const struct capacity *c, const struct gpu *card, const struct snapshot *s)
{
    for (size_t i = 0; i < c->gpu_count; i++) {
        struct capacity_gpu gpu = c->gpus[i];
        if (gpu.instance < 0 && !gpu.shared)
            gpu.free_bytes = free_of(gpu.free_bytes, gpu.total_bytes, card->mem_used_bytes);
        if (gpu.index != card->index || !gpu.usable || (gpu.only_if_named && !w->named) || gpu.free_bytes.state != READING_OK ||
            gpu.free_bytes.value < w->free_bytes)
            continue;
        if (gpu.simulated || lease_give_room(w->cli, s, &gpu, w->free_bytes))
            return true;
    }
    return false;
}

/* The first of these GPUs that grants room; -1: none. Samples again with everything that health depends on. */
static int take_room(const struct room_wait *w, struct session *session, const bool held[GPU_MAX])
{
    struct error err;
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_ALL, &err);
    AUTO_FREE struct capacity *c = s ? fit_capacity(w->cli, session, s, 0) : NULL;
    for (size_t i = 0; c && i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        if (gpu->index >= 0 && gpu->index < GPU_MAX && held[gpu->index] && may_have(w, c, gpu, s))
            return gpu->index;
    }
    return -1;
}

/* Of a partitioned GPU, its largest instance. */
static struct reading largest_piece(const struct gpu *gpu)
{
    struct reading most = gpu->mem_total_bytes;
    if (gpu->instance_count)
        most = reading_ok(0);
    for (size_t i = 0; i < gpu->instance_count; i++)
        most.value = MAX_OF(most.value, reading_or(gpu->instances[i].mem_total_bytes, INT64_MAX));
    return most;
}

/* The largest GPU, if even that is too small, so that waiting is futile. NULL: it may succeed, as far as known. */
static const struct gpu *too_small(const struct room_wait *w, const struct snapshot *s, int only)
{
    const struct gpu *largest = NULL;
    for (size_t i = 0; i < s->gpu_count && w->free_bytes; i++) {
        const struct gpu *gpu = &s->gpus[i];
        int64_t total, most;
        if (only != ALL_GPUS ? only != (int)i : !snapshot_counts_memory(s, gpu))
            continue;
        if (!reading_get(largest_piece(gpu), &total) || total >= w->free_bytes)
            return NULL;
        if (!largest || !reading_get(largest_piece(largest), &most) || total > most)
            largest = gpu;
    }
    return largest;
}

static int fail_too_small(const struct room_wait *w, const struct gpu *largest, bool one)
{
    char wanted[WORDS_SIZE], total[WORDS_SIZE];
    words_bytes(w->free_bytes, wanted);
    words_bytes(largest_piece(largest).value, total);
    if (one)
        return cli_fail("GPU %d can't have %s free: it has %s%s", largest->index, wanted, total,
                        largest->instance_count ? " in its largest instance" : "");
    return cli_fail("no GPU can have %s free: the largest, GPU %d, has %s", wanted, largest->index, total);
}

/* Whether the condition has held long enough on this GPU. Unknown counts as false. */
static bool holds(struct room_wait *w, const struct snapshot *s, const struct gpu *gpu, struct mono now)
{
    struct subject subject = {.snapshot = s, .gpu = gpu};
    struct mono *since = &w->since[gpu->index];
    bool true_now = gpu->state == GPU_OK && has_room(w, gpu) && (!w->until || expr_eval(w->until, &subject) == TRUTH_TRUE);
    if (!true_now)
        since->ns = 0;
    else if (since->ns == 0)
        since->ns = now.ns;
    return true_now && mono_since_ms(now, *since) >= w->hold_ms;
}

/* The index of the GPU where it holds, or of the first if all must. -1: not yet. */
static int find_match(struct room_wait *w, struct session *session, const struct snapshot *s, int only)
{
    struct mono now = clock_mono(&clock_system);
    bool held[GPU_MAX] = {false}, all = true;
    int first = -1;
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        if ((only != ALL_GPUS && only != (int)i) || gpu->index < 0 || gpu->index >= GPU_MAX)
            continue;
        held[gpu->index] = holds(w, s, gpu, now);
        all &= held[gpu->index];
        if (held[gpu->index] && first < 0)
            first = gpu->index;
    }
    if (first >= 0 && w->free_bytes)
        return take_room(w, session, held);
    return w->any || all ? first : -1;
}

/* Only the answer goes to stdout, for scripts; people read on stderr that the GPU is simulated. */
static int print_found(const struct room_wait *w, const struct snapshot *s, int index)
{
    AUTO_BUF struct buf out = BUF(256);
    bool simulated = s->gpus[0].simulated;
    if (simulated && !w->cli->json)
        fputs("SIMULATED\n", stderr);
    if (w->cli->json)
        buf_printf(&out, "{\"gpu_index\": %d, \"simulated\": %s}\n", index, simulated ? "true" : "false");
    else if (w->any)
        buf_printf(&out, "%d\n", index);
    return show_text(&out);
}

static int watch(struct room_wait *w, struct session *session, int64_t timeout_ms, int64_t every_ms)
{
    struct mono begin = clock_mono(&clock_system);
    char text[WORDS_SIZE];
    session_set_max_age(session, every_ms / 2);
    for (;;) {
        struct error err = {0};
        int only;
        AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_QUICK, &err);
        if (!s || session_only(session, s, &only, &err) < 0)
            return cli_fail("%s", err.text);
        if (s->gpu_count == 0)
            return cli_fail("no GPU was found on this host");
        w->named = only != ALL_GPUS;
        int found = find_match(w, session, s, only);
        if (found >= 0)
            return print_found(w, s, found);
        const struct gpu *largest = too_small(w, s, only);
        if (largest)
            return fail_too_small(w, largest, only != ALL_GPUS || s->gpu_count == 1);
        int64_t waited_ms = mono_since_ms(clock_mono(&clock_system), begin);
        if (timeout_ms >= 0 && waited_ms >= timeout_ms)
            return cli_fail("timed out after %s", words_duration(timeout_ms, text));
        pause_ms(timeout_ms >= 0 ? MIN_OF(every_ms, timeout_ms - waited_ms) : every_ms);
    }
}

static int read_options(struct room_wait *w, int64_t *timeout_ms, int64_t *every_ms)
{
    const struct options *o = w->cli->options;
    struct error err = {0};
    const char *until = options_value(o, "when", options_has(o, "idle") ? IDLE_CONDITION : NULL),
               *room = options_value(o, "gpu-free", NULL);
    const char *pid = options_value(o, "pid", NULL);
    int64_t number;
    if (pid && (!str_to_i64(str_from(pid), &number) || number < 1 || number > INT32_MAX))
        return cli_usage(w->cli, "invalid value '%s' for --pid; expected the number of a process", pid);
    size_t asked = (o->argument_count > 0) + (pid != NULL) + (until || room);
    if (asked == 0)
        return cli_usage(
            w->cli, "wait for what? A program (whirr wait train.py, --pid 4242), --idle, --gpu-free 20GiB, or --when CONDITION");
    if (asked > 1 || (options_has(o, "idle") && options_has(o, "when")))
        return cli_usage(w->cli, "wait for one thing: a program, --idle, --gpu-free or --when");
    int status = room ? cli_size(w->cli, "gpu-free", room, &w->free_bytes) : EXIT_FINE;
    if (status == EXIT_FINE)
        status = options_duration(w->cli, "timeout", timeout_ms);
    if (status != EXIT_FINE)
        return status;
    if (options_seconds(o, "interval", every_ms, &err) < 0)
        return cli_usage(w->cli, "%s", err.text);
    if (!until && !room)
        return EXIT_FINE;
    w->any = room || options_has(o, "any");
    return until ? read_condition(w, until) : EXIT_FINE;
}

static int wait_run(struct cli *cli)
{
    struct room_wait w = {.cli = cli};
    struct error err = {0};
    int64_t timeout_ms = -1, every_ms = INTERVAL_MS;
    int status = read_options(&w, &timeout_ms, &every_ms);
    if (status == EXIT_FINE && options_has(cli->options, "notify"))
        status = wait_notify(cli, NULL);
    const char *program = options_value(cli->options, "pid", cli->options->argument_count ? cli->options->arguments[0] : NULL);
    if (status == EXIT_FINE && program)
        return wait_for_programs(cli, program, timeout_ms, every_ms);
    struct session *session = status == EXIT_FINE ? session_open(cli, &err) : NULL;
    if (session)
        status = watch(&w, session, timeout_ms, every_ms);
    else if (status == EXIT_FINE)
        status = cli_error(cli, &err);
    session_close(session);
    if (status == EXIT_FINE && options_has(cli->options, "notify"))
        status = wait_notify(cli, options_has(cli->options, "idle")   ? "The GPU is idle."
                                  : options_has(cli->options, "when") ? "The condition that `whirr wait` waited for holds."
                                                                      : "A GPU has room.");
    expr_free(w.until);
    return status;
}

static const struct option_spec options[] = {
    {.name = "pid", .argument = "PID", .help = "Wait until this program ends"},
    {.name = "idle", .help = "Wait until all GPUs, or the one of --gpu, have been idle for 30 s"},
    {.name = "when", .argument = "CONDITION", .help = "Wait until this holds; \"... for 5m\" means for that long"},
    {.name = "until", .known_as = "when", .argument = "CONDITION", .hidden = true, .help = "The old name of --when"},
    {.name = "gpu-free", .argument = "SIZE", .help = "Wait until a GPU has this much free memory, and print its index"},
    {.name = "any", .help = "One GPU is enough for --when; print its index"},
    {.name = "notify",
     .argument = "NAME",
     .optional = true,
     .help = "Send a message then: by this notifier, by all, or to the desktop"},
    {.name = "timeout", .argument = "DURATION", .help = "Give up after this time, with status 1"},
    {.name = "interval", .argument = "SECONDS", .help = "Check every SECONDS (default: 1)"},
};

const struct command command_wait = {
    .exits = "0 it ended, or the condition holds; 1 timed out, no such program or GPU (or none with so much memory), or it failed; "
             "2 wrong "
             "usage or configuration. For a program its own status, where that can be known (Linux 6.15).",
    .name = "wait",
    .group = HELP_ACT,
    .summary = "Wait until a program ends, or GPUs are idle, cool or have room",
    .arguments = "[PROGRAM|PID]",
    .arguments_max = 1,
    .details = "A program is named by its PID or a part of its name, as in `whirr ps`; of several, all must end. Conditions are "
               "those of alert rules. They must hold for every GPU, for the one of --gpu, or with --any for one of "
               "them. A reading that is not known does not satisfy a condition. With --gpu-free, GPUs that are failing or lost are "
               "passed over, and the room is leased until it is used, for 2 minutes at most: another wait or run gets other room.",
    OPTIONS(options),
    .examples = {{"whirr wait train.py --notify", "until it ends; then a message"},
                 {"whirr wait --gpu-free 20GiB", "print the first GPU with room as soon as there is one"},
                 {"whirr wait --gpu 0 --when \"temperature < 60C\" --timeout 10m", "let GPU 0 cool down, 10 minutes at most"}},
    .remote = true,
    .run = wait_run,
};
