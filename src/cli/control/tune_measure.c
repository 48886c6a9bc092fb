/* SPDX-License-Identifier: Apache-2.0
 * Measures one load at several power limits. Each limit is a lease of its own, so the old limit returns however the run ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/control/change.h"
#include "control/control.h"

enum { SLICE_MS = 100, SAMPLE_MS = 1000, STOP_MS = 10000, LINE_MAX_BYTES = 4096 };

struct tune {
    const struct tune_plan *plan;
    struct session *session;
    struct tune_result *result;
    bool kind_known;
    /* The program */
    pid_t pid; /* 0: none, or ended */
    int out;   /* its output; -1: not read */
    size_t line_len;
    char line[LINE_MAX_BYTES];
    sigset_t signals, before;
    /* The limit */
    bool through_helper;
    int helper;
    struct settings_holder holder;
    char lease[LEASE_ID_SIZE];
    bool taken; /* another program has changed it */
    /* The current measurement */
    double work, watts;
    size_t works, powers;
    struct reading clock_khz;
    bool hot;
};

/* ---- the limit ---- */

static int begin_there(struct tune *t, int64_t mw, struct error *err)
{
    AUTO_FREE struct request *r = calloc(1, sizeof *r);
    AUTO_FREE struct lease *l = calloc(1, sizeof *l);
    char words[SETTINGS_WORDS];
    t->helper = r && l ? helper_connect() : -ENOMEM;
    if (t->helper < 0)
        return error_set(err, t->helper, "whirr-control cannot be reached: %s", strerror(-t->helper));
    r->op = REQUEST_SET;
    r->hold = true;
    r->count = 1;
    r->settings[0] = *t->plan->setting;
    r->settings[0].value = (struct control_value){.low = mw, .high = mw};
    snprintf(r->command, sizeof r->command, "tune");
    int rc = helper_ask(t->helper, r, l, words, err);
    memcpy(t->lease, l->id, sizeof t->lease);
    return rc;
}

static int begin_here(struct tune *t, int64_t mw, struct error *err)
{
    AUTO_FREE struct lease *l = calloc(1, sizeof *l);
    if (!l)
        return error_set(err, -ENOMEM, "out of memory");
    lease_init(l, LEASE_SETTING, 0, clock_wall(t->plan->cli->env.clock));
    snprintf(l->command, sizeof l->command, "tune");
    int rc = lease_set_plan(l, control_find(&t->holder.set, t->plan->setting->gpu), t->plan->setting->gpu_index, CONTROL_POWER,
                            (struct control_value){.low = mw, .high = mw}, err);
    rc = rc < 0 ? rc : holder_begin(&t->holder, l, true, err);
    memcpy(t->lease, l->id, sizeof t->lease);
    return rc;
}

static int end_limit(struct tune *t, struct error *err)
{
    int rc = 0;
    char words[SETTINGS_WORDS];
    if (!t->through_helper)
        return t->holder.count ? holder_end(&t->holder, t->lease, words, err) : 0;
    AUTO_FREE struct request *r = t->helper >= 0 ? calloc(1, sizeof *r) : NULL;
    if (r) { /* end the lease explicitly instead of just hanging up: the next limit must not begin before */
        r->op = REQUEST_END;
        memcpy(r->id, t->lease, sizeof r->id);
        rc = helper_ask(t->helper, r, NULL, words, err);
        close(t->helper);
    }
    t->helper = -1;
    return rc;
}

static void note_taken(void *user, const struct lease *l, const char *why)
{
    (void)l, (void)why;
    ((struct tune *)user)->taken = true;
}

static void check_holder(struct tune *t)
{
    struct pollfd said = {.fd = t->helper, .events = POLLIN};
    if (!t->through_helper)
        holder_look(&t->holder, note_taken, t);
    else if (t->helper >= 0 && poll(&said, 1, 0) > 0)
        t->taken = true;
}

/* ---- the program's output ---- */

static bool is_number(char c)
{
    return (c >= '0' && c <= '9') || c == '.';
}

/* The number that ends before `end`, or that begins after `from`. */
static bool number_before(struct str line, size_t end, double *ret)
{
    while (end > 0 && line.at[end - 1] == ' ')
        end--;
    size_t begin = end;
    while (begin > 0 && is_number(line.at[begin - 1]))
        begin--;
    return begin < end && str_to_double((struct str){line.at + begin, end - begin}, ret);
}

static bool number_behind(struct str line, size_t from, double *ret)
{
    while (from < line.len && strchr(" :=\t", line.at[from]))
        from++;
    size_t end = from;
    while (end < line.len && is_number(line.at[end]))
        end++;
    return end > from && str_to_double((struct str){line.at + from, end - from}, ret);
}

/* In "tokens/s: 88" the number follows, whatever precedes the text. */
static bool has_sign(struct str line, size_t at)
{
    while (at < line.len && line.at[at] == ' ')
        at++;
    return at < line.len && (line.at[at] == ':' || line.at[at] == '=');
}

/* The number beside `text` in a line: "12.5 it/s", "tokens/s: 88". The last one if there are several. */
static bool find_rate(struct str line, const char *text, double *ret)
{
    size_t len = strlen(text);
    for (size_t at = line.len >= len ? line.len - len + 1 : 0; at-- > 0;) {
        if (memcmp(line.at + at, text, len) != 0)
            continue;
        bool before = !has_sign(line, at + len) && number_before(line, at, ret);
        if (before || number_behind(line, at + len, ret))
            return true;
    }
    return false;
}

static void take_line(struct tune *t)
{
    double rate;
    if (t->line_len && find_rate((struct str){t->line, t->line_len}, t->plan->rate, &rate)) {
        t->work += rate;
        t->works++;
    }
    t->line_len = 0;
}

/* Forwards the output to stderr: stdout is for the result. Progress bars end lines with \r. */
static void read_output(struct tune *t, int within_ms)
{
    struct pollfd ready = {.fd = t->out, .events = POLLIN};
    char bytes[LINE_MAX_BYTES];
    if (poll(&ready, 1, within_ms) <= 0)
        return;
    ssize_t got = read(t->out, bytes, sizeof bytes);
    if (got <= 0) {
        close(t->out);
        t->out = -1;
        return;
    }
    (void)!write(STDERR_FILENO, bytes, (size_t)got);
    for (ssize_t i = 0; i < got; i++) {
        if (bytes[i] == '\n' || bytes[i] == '\r' || t->line_len == sizeof t->line)
            take_line(t);
        else
            t->line[t->line_len++] = bytes[i];
    }
}

/* ---- samples ---- */

static bool is_server(const struct tune *t, const struct process *p)
{
    char words[PROCESS_WORDS];
    return !t->plan->server || strstr(process_words(p, LONG_NAME, words), t->plan->server) || strstr(p->command, t->plan->server);
}

static struct reading tokens_of(const struct tune *t, const struct gpu *gpu)
{
    struct reading sum = {0};
    for (size_t i = 0; i < gpu->process_count; i++)
        if (is_server(t, &gpu->processes[i]) && gpu->processes[i].tokens_milli.state == READING_OK)
            sum = reading_ok(reading_or(sum, 0) + gpu->processes[i].tokens_milli.value);
    return sum;
}

/* Picks the best measure that this GPU and program offer; the same for all limits. */
static void choose_work(struct tune *t, const struct gpu *gpu)
{
    if (t->kind_known)
        return;
    t->kind_known = true;
    t->result->kind = t->plan->rate                                 ? TUNE_RATE
                      : tokens_of(t, gpu).state == READING_OK       ? TUNE_TOKENS
                      : gpu->sm_active_permille.state == READING_OK ? TUNE_SM
                                                                    : TUNE_LOAD;
}

static bool work_of(const struct tune *t, const struct gpu *gpu, struct reading clock, double *ret)
{
    struct reading busy = t->result->kind == TUNE_SM ? gpu->sm_active_permille : gpu->util_permille;
    struct reading of = t->result->kind == TUNE_TOKENS ? tokens_of(t, gpu) : busy;
    if (t->result->kind == TUNE_RATE || of.state != READING_OK || (t->result->kind != TUNE_TOKENS && clock.state != READING_OK))
        return false;
    *ret = (double)of.value / 1000 * (t->result->kind == TUNE_TOKENS ? 1 : (double)clock.value / 1000);
    return true;
}

static const struct gpu *find_gpu(const struct tune *t, const struct snapshot *s)
{
    int at = snapshot_find_gpu(s, t->plan->setting->gpu);
    return at >= 0 ? &s->gpus[at] : NULL;
}

static int take_sample(struct tune *t, struct error *err)
{
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(t->session, GROUP_QUICK, err);
    const struct gpu *gpu = s ? find_gpu(t, s) : NULL;
    double work;
    if (!gpu || gpu->state != GPU_OK)
        return error_set(err, -ENODEV, "GPU %d cannot be read any more", t->plan->setting->gpu_index);
    choose_work(t, gpu);
    struct reading clock = gpu->clock_sm_khz.state == READING_OK ? gpu->clock_sm_khz : gpu->clock_graphics_khz;
    if (work_of(t, gpu, clock, &work)) {
        t->work += work;
        t->works++;
    }
    if (gpu->power_mw.state == READING_OK) {
        t->watts += (double)gpu->power_mw.value / 1000;
        t->powers++;
    }
    t->clock_khz = clock;
    t->hot |= gpu->activity.throttled_by & THROTTLE_HOT;
    return 0;
}

/* ---- time ---- */

/* -EINTR: a signal arrived. -ECHILD: the program has ended. -EBUSY: another program changed the limit. */
static int check_events(struct tune *t, struct error *err)
{
    const struct timespec none = {0};
    int status, number;
    if (t->taken)
        return error_set(err, -EBUSY, "another program has changed the power limit; its value was left");
    while ((number = sigtimedwait(&t->signals, NULL, &none)) > 0)
        if (number != SIGCHLD)
            return error_set(err, -EINTR, "stopped by a signal; the old limit is back");
    if (t->pid > 0 && waitpid(t->pid, &status, WNOHANG) == t->pid) {
        t->pid = 0;
        return error_set(err, -ECHILD, "the program has ended");
    }
    return 0;
}

static int let_run(struct tune *t, int64_t ms, bool measure, struct error *err)
{
    struct mono begin = clock_mono(&clock_system), sampled = {0}, looked = begin;
    int rc = 0;
    for (int64_t left; rc == 0 && (left = ms - mono_since_ms(clock_mono(&clock_system), begin)) > 0;) {
        int slice = (int)MIN_OF(left, (int64_t)SLICE_MS);
        if (t->out >= 0)
            read_output(t, slice);
        else
            pause_ms(slice);
        struct mono now = clock_mono(&clock_system);
        if (mono_since_ms(now, looked) >= HOLDER_LOOK_MS) {
            check_holder(t);
            looked = now;
        }
        rc = check_events(t, err);
        if (rc == 0 && measure && (!sampled.ns || mono_since_ms(now, sampled) >= SAMPLE_MS)) {
            rc = take_sample(t, err);
            sampled = now;
        }
    }
    return rc;
}

static int measure_at(struct tune *t, int64_t mw, struct tune_point *ret, struct error *err)
{
    struct error ignored;
    int rc = t->through_helper ? begin_there(t, mw, err) : begin_here(t, mw, err);
    if (rc == 0)
        rc = let_run(t, t->plan->settle_ms, false, err);
    t->work = t->watts = 0;
    t->works = t->powers = 0;
    t->hot = false;
    if (rc == 0)
        rc = let_run(t, t->plan->measure_ms, true, err);
    int ended = end_limit(t, rc < 0 ? &ignored : err);
    if (rc < 0 || ended < 0)
        return rc < 0 ? rc : ended;
    if (!t->works || !t->powers || t->work <= 0)
        return error_set(err, -ENODATA,
                         !t->powers      ? "the power of the GPU can't be read"
                         : t->plan->rate ? "the program printed no number beside '%s'"
                                         : "no work was done on the GPU: tune needs a load",
                         t->plan->rate);
    *ret = (struct tune_point){mw, t->work / (double)t->works, t->watts / (double)t->powers, t->clock_khz, t->hot};
    fprintf(stderr, "whirr: %lld W: %.4g at %.0f W\n", (long long)(mw / 1000), ret->work, ret->watts);
    return 0;
}

/* ---- the whole run ---- */

static int run_load(struct tune *t, const char *const *command, struct error *err)
{
    int ends[2] = {-1, -1};
    if (!command)
        return 0;
    if (t->plan->rate && pipe2(ends, O_CLOEXEC) < 0)
        return error_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
    int rc = hold_start(command, &t->before, ends[1] >= 0 ? ends[1] : STDERR_FILENO, &t->pid);
    if (ends[1] >= 0)
        close(ends[1]);
    t->out = ends[0];
    return rc ? error_set(err, -rc, "the program cannot be started") : let_run(t, t->plan->warmup_ms, false, err);
}

static void stop_load(struct tune *t)
{
    for (int64_t waited = 0; t->pid > 0; waited += SLICE_MS) {
        int status;
        if (waited % STOP_MS == 0)
            kill(t->pid, waited ? SIGKILL : SIGTERM);
        if (waitpid(t->pid, &status, WNOHANG) == t->pid)
            t->pid = 0;
        else if (t->out >= 0)
            read_output(t, SLICE_MS);
        else
            pause_ms(SLICE_MS);
    }
    if (t->out >= 0)
        close(t->out);
}

static int run_all(struct tune *t, const char *const *command, struct error *err)
{
    struct tune_result *r = t->result;
    struct tune_point again;
    int rc = run_load(t, command, err);
    for (size_t i = 0; i < r->planned && rc == 0; i++)
        if ((rc = measure_at(t, t->plan->limits[i], &r->points[i], err)) == 0)
            r->count++;
    if (rc == 0 && measure_at(t, t->plan->limits[0], &again, err) == 0)
        r->again = again.work;
    stop_load(t);
    return rc == -ECHILD && r->count >= 2 ? 0 : rc;
}

static int open_limit(struct tune *t, struct error *err)
{
    t->through_helper = t->plan->denied;
    if (t->through_helper) {
        AUTO_CLOSE int fd = helper_connect();
        return fd < 0 ? error_set(err, fd, CHANGE_NEEDS_ROOT) : 0;
    }
    const struct cli *cli = t->plan->cli;
    int watchdog = holder_watchdog(&cli->env, change_dir(cli));
    return watchdog < 0 ? error_set(err, watchdog, "cannot make a process that puts the old values back: %s", strerror(-watchdog))
                        : holder_open(&t->holder, &cli->env, change_dir(cli), watchdog, err);
}

static bool has_server(const struct tune *t, const struct snapshot *s)
{
    const struct gpu *gpu = find_gpu(t, s);
    for (size_t i = 0; gpu && i < gpu->process_count; i++)
        if (is_server(t, &gpu->processes[i]))
            return true;
    return false;
}

static int check_server(struct tune *t, struct error *err)
{
    AUTO_SNAPSHOT const struct snapshot *s = t->plan->server ? session_sample(t->session, GROUP_ALL, err) : NULL;
    if (!t->plan->server)
        return 0;
    if (!s)
        return err->code;
    return has_server(t, s) ? 0
                            : error_set(err, -ENOENT, "GPU %d has no process '%s'; `whirr ps` lists them",
                                        t->plan->setting->gpu_index, t->plan->server);
}

int tune_measure(const struct tune_plan *plan, const char *const *command, struct tune_result *ret, struct error *err)
{
    AUTO_FREE struct tune *t = calloc(1, sizeof *t);
    if (!t)
        return error_set(err, -ENOMEM, "out of memory");
    *t = (struct tune){.plan = plan, .result = ret, .helper = -1, .out = -1, .holder = HOLDER_CLOSED};
    hold_signals(&t->signals, &t->before);
    int rc = open_limit(t, err);
    t->session = rc == 0 ? session_open(plan->cli, err) : NULL;
    if (t->session)
        session_set_max_age(t->session, SAMPLE_MS / 2);
    if (rc == 0)
        rc = t->session ? check_server(t, err) : err->code;
    if (rc == 0)
        rc = run_all(t, command, err);
    if (!t->through_helper)
        holder_close(&t->holder);
    session_close(t->session);
    sigprocmask(SIG_SETMASK, &t->before, NULL);
    return rc;
}
