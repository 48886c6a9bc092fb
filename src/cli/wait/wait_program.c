/* SPDX-License-Identifier: Apache-2.0
 * Waits for the end of programs: on a GPU, or anywhere on this host. Programs of other hosts and of the simulator are looked for in
 * samples.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "alert/notify/desktop.h"
#include "alert/notify/notify.h"
#include "ask/session.h"
#include "ask/settings.h"
#include "base/cleanup.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "cli/notify/notify.h"
#include "cli/programs.h"
#include "cli/wait/wait.h"
#include "format/process_rows.h"

static bool is_listed(const struct awaited_list *l, int32_t pid)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->at[i].pid == pid)
            return true;
    return false;
}

static void add(struct awaited_list *l, int32_t pid, int64_t start_key, bool here, const char *name)
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
        add(l, p->pid, p->start_key, !rows->rows[i].gpu->simulated && p->visible && !cli->host, name);
    }
}

static void add_of_host(const struct env *env, const char *asked, struct awaited_list *l)
{
    struct program_found found[AWAITED_MAX];
    size_t count = programs_called(env, asked, found, AWAITED_MAX);
    for (size_t i = 0; i < count; i++)
        add(l, found[i].pid, 0, true, found[i].name);
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
static bool look(struct awaited_list *l, struct session *session, int64_t ms, struct error *err)
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

static int find(struct cli *cli, struct session *session, const char *asked, struct awaited_list *l)
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
        if (look(l, session, MAX_OF(0, MIN_OF(every_ms, left_ms)), &err))
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

int wait_for_programs(struct cli *cli, const char *asked, int64_t timeout_ms, int64_t every_ms)
{
    AUTO_FREE struct awaited_list *l = calloc(1, sizeof *l);
    struct error err = {0};
    struct session *session = l ? session_open(cli, &err) : NULL;
    if (!session)
        return l ? cli_error(cli, &err) : cli_fail("out of memory");
    int status = find(cli, session, asked, l);
    if (status == EXIT_FINE)
        status = wait_listed(cli, session, asked, l, timeout_ms, every_ms);
    session_close(session);
    return status;
}

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

int wait_notify(struct cli *cli, const char *sentence)
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
