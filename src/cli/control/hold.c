/* SPDX-License-Identifier: Apache-2.0
 * Keeps a change while a command or this process runs. A watchdog process restores everything if this one is killed.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "cli/control/change.h"
#include "control/control.h"

/* ---- waiting ---- */

static const int awaited[] = {SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT};

void hold_signals(sigset_t *set, sigset_t *before)
{
    sigemptyset(set);
    for (size_t i = 0; i < ARRAY_LEN(awaited); i++)
        sigaddset(set, awaited[i]);
    sigprocmask(SIG_BLOCK, set, before);
}

static int64_t ms_until(struct wall until)
{
    return until.ms ? until.ms - clock_wall(&clock_system).ms : INT64_MAX;
}

/* The next signal; 0: none within that time. */
static int next_signal(const sigset_t *set, int64_t ms)
{
    struct timespec wait = {.tv_sec = ms / MS_PER_S, .tv_nsec = ms % MS_PER_S * NS_PER_MS};
    int number = sigtimedwait(set, NULL, &wait);
    return number > 0 ? number : 0;
}

int hold_start(const char *const *command, const sigset_t *mask, int out, pid_t *ret)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    sigset_t defaults, unblocked = *mask;
    posix_spawn_file_actions_init(&files);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    sigfillset(&defaults);
    /* Unblock for the program what we blocked, so that signals end it as usual; keep ignored ones ignored (nohup). */
    for (size_t i = 0; i < ARRAY_LEN(awaited); i++) {
        struct sigaction now;
        sigdelset(&unblocked, awaited[i]);
        if (awaited[i] != SIGCHLD && sigaction(awaited[i], NULL, &now) == 0 && now.sa_handler == SIG_IGN)
            sigdelset(&defaults, awaited[i]);
    }
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &unblocked);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    int rc = posix_spawnp(ret, command[0], &files, &attributes, (char *const *)command, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (rc)
        cli_fail("cannot start '%s': %s", command[0], strerror(rc));
    return rc;
}

/* Runs the command to its end; calls `look` every two seconds. Returns the exit status. */
static int hold_command(const char *const *command, void (*look)(void *user), void *user)
{
    sigset_t set, before;
    pid_t pid;
    int status = 0;
    hold_signals(&set, &before);
    int rc = hold_start(command, &before, -1, &pid);
    if (rc)
        return rc == ENOENT ? 127 : 126;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        int number = next_signal(&set, HOLDER_LOOK_MS);
        /* The program owns the terminal: keyboard signals reach it directly. */
        if (number == SIGTERM || number == SIGHUP)
            kill(pid, number);
        else if (number == 0)
            look(user);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool hold_confirmed(int64_t within_ms)
{
    struct pollfd typed = {.fd = STDIN_FILENO, .events = POLLIN};
    char words[WORDS_SIZE], line[64];
    fprintf(stderr, "Press Enter within %s to keep it: ", words_duration(within_ms, words));
    bool kept = poll(&typed, 1, (int)MIN_OF(within_ms, (int64_t)INT32_MAX)) > 0 && fgets(line, sizeof line, stdin) != NULL;
    if (!kept)
        fputc('\n', stderr);
    return kept;
}

/* ---- in this process ---- */

static void print_ended(void *user, const struct lease *l, const char *why)
{
    (void)user;
    fprintf(stderr, "whirr: lease %s has ended: %s\n", l->id, why);
}

static void check_holder(void *user)
{
    holder_look(user, print_ended, NULL);
}

/* Waits until the time is over, another process takes the setting, or a signal arrives. */
static int stay(struct settings_holder *k, struct wall until)
{
    sigset_t set, before;
    char left[WORDS_SIZE];
    hold_signals(&set, &before);
    if (until.ms)
        fprintf(stderr, "Kept by this command for %s; Ctrl-C puts the old values back.\n", words_duration(ms_until(until), left));
    else
        fputs("Kept by this command; Ctrl-C puts the old values back.\n", stderr);
    int number = 0;
    while (k->count && number == 0 && ms_until(until) > 0) {
        number = next_signal(&set, MIN_OF(ms_until(until), (int64_t)HOLDER_LOOK_MS));
        if (number == 0 || number == SIGCHLD) {
            number = 0;
            holder_look(k, print_ended, NULL);
        }
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return EXIT_FINE;
}

static int begin_here(struct cli *cli, struct settings_holder *k, struct lease *plan, const struct change_list *l,
                      struct error *err)
{
    int watchdog = holder_watchdog(&cli->env, change_dir(cli));
    if (watchdog < 0)
        return error_set(err, watchdog, "cannot make a process that puts the old values back: %s", strerror(-watchdog));
    int rc = holder_open(k, &cli->env, change_dir(cli), watchdog, err);
    for (size_t i = 0; i < l->count && rc == 0; i++) {
        const struct request_setting *s = &l->at[i].setting;
        rc = lease_set_plan(plan, control_find(&k->set, s->gpu), s->gpu_index, s->kind, s->value, err);
    }
    return rc < 0 ? rc : holder_begin(k, plan, true, err);
}

int hold_here(struct cli *cli, struct lease *plan, const struct change_list *l, const char *const *command, int64_t confirm_ms)
{
    struct settings_holder k = HOLDER_CLOSED;
    struct error err = {0};
    if (command)
        str_copy_clean(plan->command, sizeof plan->command, str_from(command[0]));
    int status = EXIT_FINE;
    /* A signal between the change and the wait must not end this process before it restores the settings. */
    sigset_t set, before;
    hold_signals(&set, &before);
    int rc = begin_here(cli, &k, plan, l, &err);
    if (rc < 0)
        status = cli_fail("%s", err.text);
    else if (confirm_ms && !hold_confirmed(confirm_ms))
        status = cli_fail("not confirmed: the old values are back");
    else
        status = command ? hold_command(command, check_holder, &k) : stay(&k, plan->until);
    holder_close(&k);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

/* ---- through the helper ---- */

static void check_helper(void *user)
{
    int *fd = user;
    struct pollfd said = {.fd = *fd, .events = POLLIN};
    char why[SETTINGS_WORDS];
    if (*fd < 0 || poll(&said, 1, 0) <= 0)
        return;
    if (helper_ended(*fd, why) < 0)
        snprintf(why, sizeof why, "whirr-control has ended");
    fprintf(stderr, "whirr: the old values are back: %s\n", why);
    *fd = -1;
}

int hold_there(struct cli *cli, int fd, const struct lease *l, const char *const *command)
{
    (void)cli, (void)l;
    return hold_command(command, check_helper, &fd); /* closing the connection ends the lease */
}
