/* SPDX-License-Identifier: Apache-2.0
 * whirr watch: runs a program, and reports at its end how it used the GPUs.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os/place.h"
#include "base/os/program.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "cli/watch/watch.h"
#include "config/config.h"
#include "format/json/json.h"
#include "insight/view/program_phases.h"

/* One program from start to end. */
struct watched {
    const char *const *argv;
    size_t argc;
    int status; /* from waitpid() */
    struct wall started_at;
    double seconds, cpu_s;
    int64_t interval_ms;
    struct run_usage usage;
    double price_per_kwh; /* 0: unknown */
    const char *currency;
    bool blind; /* sampling was not possible; see `problem` */
    char problem[512];
    char cpu_time[ADDRESS_WORDS]; /* where it spent its CPU time while its host side limited it; "": it did not */
    struct watch_lines lines;
    /* Made for watch_json(). */
    struct told_lines told;
    struct course_phase phases[COURSE_PHASES_MAX];
    size_t phase_count;
};

/* ---- the report ---- */

enum { TITLE_SIZE = 96, LIST_MAX = 4096 };

static double cost_of(const struct watched *w)
{
    return usage_energy_j(&w->usage) / 3.6e6 * w->price_per_kwh;
}

/* ---- text ---- */

static const char *last_name(const char *path)
{
    const char *slash = path_last_slash(path);
    return slash ? slash + 1 : path;
}

/* "train.py" for `python3 train.py`: the first argument of an interpreter that is a file, otherwise the program. */
static void title_of(const struct watched *w, char title[TITLE_SIZE])
{
    const char *program = last_name(w->argv[0]), *name = program;
    static const char *const interpreters[] = {"python", "node", "bash", "sh", "perl", "ruby", "julia", "java"};
    for (size_t i = 0; i < ARRAY_LEN(interpreters); i++)
        if (str_starts(str_from(program), interpreters[i]) && w->argc > 1 && w->argv[1][0] != '-')
            name = last_name(w->argv[1]);
    str_copy_clean(title, TITLE_SIZE, str_from(name[0] ? name : program));
}

static void row(struct buf *out, const struct page *page, const char *label, const struct buf *text)
{
    buf_text(out, "  ");
    page_cell(out, page, INK_LABEL, LEFT, label, 13);
    page_wrap(out, page, INK_PLAIN, text->at ? text->at : "", 15, 15);
}

static void list_gpus(struct buf *out, const struct watched *w)
{
    size_t used = 0;
    for (size_t i = 0; i < w->usage.gpu_count; i++) {
        const struct run_gpu *g = &w->usage.gpus[i];
        if (!g->used)
            continue;
        buf_printf(out, "%sGPU %d", used++ ? ", " : " on ", g->index);
        if (g->name[0])
            buf_printf(out, " (%s%s)", g->simulated ? "simulated " : "", g->name);
    }
}

static void put_headline(struct buf *out, const struct page *page, const struct watched *w)
{
    AUTO_BUF struct buf line = BUF(LIST_MAX);
    char title[TITLE_SIZE], duration[WORDS_SIZE];
    enum limit limit = course_limited_by(&w->usage.course);
    title_of(w, title);
    buf_printf(&line, "%s ran for %s", title, words_duration(llround(w->seconds * 1000), duration));
    if (w->blind)
        buf_printf(&line, "; the GPUs could not be sampled: %s.", w->problem);
    else if (!w->usage.gpu_count)
        buf_text(&line, "; there is no GPU on this host.");
    else if (!w->usage.course.on_gpu)
        buf_text(&line, "; no GPU use was seen.");
    else {
        list_gpus(&line, w);
        buf_printf(&line, "%s%s.", limit == LIMIT_NONE ? ", mostly waiting" : ", mostly limited by ",
                   limit == LIMIT_NONE ? "" : limit_words(limit));
    }
    page_ink(out, page, INK_STRONG, buf_view(&line));
    buf_char(out, '\n');
}

static void put_levels(struct buf *out, const struct page *page, const struct watched *w)
{
    const struct run_course *c = &w->usage.course;
    char a[WORDS_SIZE], b[WORDS_SIZE];
    AUTO_BUF struct buf vram = BUF(256), util = BUF(256), energy = BUF(512);
    buf_printf(&vram, c->vram_bytes.state == READING_OK ? "peak %s, mean %s" : "%s",
               c->vram_bytes.state == READING_OK ? words_bytes(c->vram_bytes.peak, a) : page_dash(page),
               words_bytes(llround(c->vram_bytes.mean), b));
    row(out, page, "VRAM", &vram);
    buf_printf(&util, c->util_permille.state == READING_OK ? "peak %s, mean %s" : "%s",
               c->util_permille.state == READING_OK ? words_percent(c->util_permille.peak, a) : page_dash(page),
               words_percent(llround(c->util_permille.mean), b));
    row(out, page, "Utilization", &util);
    if (c->power_mw.state != READING_OK) {
        buf_text(&energy, page_dash(page));
    } else {
        buf_text(&energy, words_energy(llround(usage_energy_j(&w->usage) * 1000), a));
        if (w->price_per_kwh > 0)
            buf_printf(&energy, ", %.*f %s", cost_of(w) < 0.1 ? 4 : 2, cost_of(w), w->currency);
        buf_printf(&energy, " (mean %s", words_power(llround(c->power_mw.mean), a));
        buf_printf(&energy, ", peak %s)", words_power(c->power_mw.peak, a));
        if (usage_attributed_j(&w->usage) > 0)
            buf_printf(&energy, "; %s above idle", words_energy(llround(usage_attributed_j(&w->usage) * 1000), a));
    }
    row(out, page, "Energy", &energy);
}

static void put_throttling(struct buf *out, const struct page *page, const struct run_course *c)
{
    AUTO_BUF struct buf text = BUF(LIST_MAX);
    char duration[WORDS_SIZE];
    for (unsigned bit = 0; bit < ARRAY_LEN(c->throttled_s); bit++)
        if (c->throttled_s[bit] > 0)
            buf_printf(&text, "%s%s for %s", text.len ? ", " : "", throttle_name(bit),
                       words_duration(llround(c->throttled_s[bit] * 1000), duration));
    if (!text.len)
        buf_text(&text, "none");
    row(out, page, "Throttling", &text);
}

static void put_phases(struct buf *out, const struct page *page, const struct run_course *c)
{
    struct course_phase phases[COURSE_PHASES_MAX];
    AUTO_BUF struct buf text = BUF(LIST_MAX);
    char duration[WORDS_SIZE], util[WORDS_SIZE];
    size_t count = course_phases(c, phases);
    for (size_t i = 0; i < count; i++) {
        const struct course_phase *p = &phases[i];
        buf_printf(&text, "%s%s %s", i ? ", " : "", course_kind_name(p->kind),
                   words_duration(llround(p->seconds * 1000), duration));
        if (p->kind == COURSE_COMPUTING && p->util_permille.state == READING_OK)
            buf_printf(&text, " at %s", words_percent(p->util_permille.value, util));
    }
    row(out, page, "Phases", &text);
}

static void put_limits(struct buf *out, const struct page *page, const struct run_course *c)
{
    AUTO_BUF struct buf text = BUF(LIST_MAX);
    bool said[LIMIT_COUNT] = {false};
    char share[WORDS_SIZE];
    for (;;) {
        int best = -1;
        for (int l = LIMIT_UNJUDGED + 1; l < LIMIT_COUNT; l++)
            if (!said[l] && l != LIMIT_NONE && l != LIMIT_CANNOT_TELL && c->limited_s[l] > 0 &&
                (best < 0 || c->limited_s[l] > c->limited_s[best]))
                best = l;
        if (best < 0)
            break;
        said[best] = true;
        buf_printf(&text, "%s%s %s", text.len ? ", " : "", limit_words((enum limit)best),
                   words_percent(llround(c->limited_s[best] / MAX_OF(c->seconds, 1e-9) * 1000), share));
    }
    if (text.len)
        buf_text(&text, " of the time");
    else
        buf_text(&text, "nothing that can be seen here");
    row(out, page, "Limited by", &text);
}

static void put_places(struct buf *out, const struct page *page, const struct program_lines *l)
{
    char words[PLACE_WORDS];
    for (size_t i = 0; i < l->count; i++) {
        AUTO_BUF struct buf text = BUF(LIST_MAX);
        buf_text(&text, place_words(&l->places[i], i == 0, words));
        row(out, page, i == 0 ? "Where" : "", &text);
    }
}

static void put_use(struct buf *out, const struct page *page, const struct watched *w)
{
    if (w->blind || !w->usage.gpu_count)
        return;
    if (!w->usage.course.on_gpu) {
        if (w->usage.processes != READING_OK && w->usage.processes != READING_UNREAD)
            buf_text(out, "  Processes on the GPUs can't be seen here. To count a GPU as a whole: whirr watch --gpu 0 -- ...\n");
        return;
    }
    put_levels(out, page, w);
    put_throttling(out, page, &w->usage.course);
    put_phases(out, page, &w->usage.course);
    put_limits(out, page, &w->usage.course);
    if (w->cpu_time[0]) {
        AUTO_BUF struct buf text = BUF(LIST_MAX);
        buf_text(&text, w->cpu_time);
        row(out, page, "CPU time", &text);
    }
}

static void watch_text(struct buf *out, const struct page *page, const struct watched *w)
{
    put_headline(out, page, w);
    put_use(out, page, w);
    /* Of a program that its GPU limits, or that uses none, they are no answer. */
    if (w->lines.wanted || (w->usage.course.on_gpu && limit_side(course_limited_by(&w->usage.course)) >= LIMIT_SIDE_HOST))
        put_places(out, page, &w->lines.lines);
}

/* ---- JSON ---- */

/* Why nothing is known: the GPUs could not be sampled, or not while it ran, or this user may not see which programs use them. */
static enum reading_state use_state(const void *record)
{
    const struct watched *w = record;
    bool told = !w->usage.gpu_count || w->usage.course.on_gpu;
    return w->blind ? READING_FAILED : told ? READING_OK : w->usage.processes;
}

/* Of a program on no GPU there is no power, and its memory is known. */
static enum reading_state level_state(const struct watched *w, const struct course_level *l)
{
    enum reading_state use = use_state(w);
    return use == READING_OK && w->usage.course.on_gpu ? l->state : use;
}

#define LEVEL_STATE(level)                                                                 \
    static enum reading_state level##_state(const void *record)                            \
    {                                                                                      \
        return level_state(record, &((const struct watched *)record)->usage.course.level); \
    }                                                                                      \
    static enum reading_state level##_state(const void *record)
LEVEL_STATE(vram_bytes);
LEVEL_STATE(util_permille);
LEVEL_STATE(power_mw);

static enum reading_state cost_state(const void *record)
{
    return ((const struct watched *)record)->price_per_kwh > 0 ? power_mw_state(record) : READING_OK;
}

/* Peak and mean. */
#define LEVEL(before, after, member, factor, ...)                                        \
    FIELD(AMOUNT, before "_peak_" after, member.peak, NULL, SCALE(factor), __VA_ARGS__); \
    FIELD(NUMBER, before "_mean_" after, member.mean, NULL, SCALE(factor), __VA_ARGS__)

ANSWER_NAMES(phase_kinds, enum course_kind, course_kind_name, COURSE_STARTING, COURSE_ENDING);
ANSWER_NAMES(limits, enum limit, limit_name, 0, LIMIT_COUNT - 1);

ANSWER_TABLE(phase_answer, struct course_phase)
{
    FIELD(NAME, "kind", kind, NULL, NAMES(phase_kinds));
    FIELD(NUMBER, "start_seconds", from_s, NULL);
    FIELD(NUMBER, "seconds", seconds, NULL);
    FIELD(READING, "utilization_percent", util_permille, NULL, SCALE(0.1));
    FIELD(READING, "power_watts", power_mw, NULL, SCALE(1e-3));
    FIELD(READING, "memory_peak_bytes", vram_peak_bytes, NULL);
    FIELD(NAME, "limited_by", limit, NULL, NAMES(limits));
}

ANSWER_TABLE(limits_of_run, struct run_course)
{
    static char keys[LIMIT_COUNT][64];
    for (int l = LIMIT_UNJUDGED + 1; l < LIMIT_COUNT; l++) {
        snprintf(keys[l], sizeof keys[l], "%s_seconds", limit_name((enum limit)l));
        FIELD(NUMBER, keys[l], limited_s[l], NULL);
    }
}

ANSWER_TABLE(throttled_answer, struct run_course)
{
    for (unsigned bit = 0; bit < ARRAY_LEN(of->throttled_s); bit++)
        FIELD(NUMBER, throttle_name(bit), throttled_s[bit], NULL, PRESENT(throttled_s[bit]), MAYBE);
}

ANSWER_TABLE(run_gpu_answer, struct run_gpu)
{
    FIELD(INT, "gpu_index", index, NULL);
    FIELD(TEXT, "name", name, NULL, OR_NULL);
    FIELD(TEXT, "uuid", uuid, NULL, OR_NULL);
    FIELD(BOOL, "simulated", simulated, NULL);
    LEVEL("memory", "bytes", vram_bytes, 1, STATE(vram_bytes.state));
    LEVEL("utilization", "percent", util_permille, 0.1, STATE(util_permille.state));
    LEVEL("power", "watts", power_mw, 1e-3, STATE(power_mw.state));
    LEVEL("temperature", "celsius", temp_mdegc, 1e-3, STATE(temp_mdegc.state));
    FIELD(NUMBER, "energy_joules", energy_j, NULL, STATE(power_mw.state));
    FIELD(NUMBER, "attributed_energy_joules", attributed_j, "The part that the program explains", STATE(power_mw.state));
}

static const void *next_word(const struct answer_at *at, struct answer_step *step)
{
    const struct watched *w = at->record;
    return step->at < w->argc ? &w->argv[step->at++] : NULL;
}

static const void *next_gpu(const struct answer_at *at, struct answer_step *step)
{
    const struct run_usage *u = &((const struct watched *)at->record)->usage;
    while (step->at < u->gpu_count && !u->gpus[step->at].used)
        step->at++;
    return step->at < u->gpu_count ? &u->gpus[step->at++] : NULL;
}

ANSWER_TEST(has_exited, struct watched, WIFEXITED(of->status));
ANSWER_TEST(was_signaled, struct watched, WIFSIGNALED(of->status));
ANSWER_TEST(has_price, struct watched, of->price_per_kwh > 0);
ANSWER_TEST(is_blind, struct watched, of->blind);
ANSWER_TEST(is_on_gpu, struct watched, of->usage.course.on_gpu);
ANSWER_TEST(has_cost, struct watched, of->usage.course.on_gpu && of->price_per_kwh > 0);
ANSWER_MAKER(make_exit, struct watched, number, WEXITSTATUS(of->status));
ANSWER_MAKER(make_signal, struct watched, number, WTERMSIG(of->status));
ANSWER_MAKER(make_basis, struct watched, word, of->usage.only >= 0 && !of->blind ? "gpu" : "processes");
ANSWER_MAKER(make_energy, struct watched, real, usage_energy_j(&of->usage));
ANSWER_MAKER(make_attributed, struct watched, real, usage_attributed_j(&of->usage));
ANSWER_MAKER(make_cost, struct watched, real, cost_of(of));
ANSWER_MAKER(make_limit, struct watched, word, limit_name(course_limited_by(&of->usage.course)));

ANSWER_TABLE(watch_answer, struct watched)
{
    EACH(WORD, "command", next_word, NULL);
    FIELD(MOMENT, "started_at", started_at, NULL);
    FIELD(NUMBER, "elapsed_seconds", seconds, NULL);
    FIELD(NUMBER, "cpu_seconds", cpu_s, NULL);
    MADE(INT, "exit_status", make_exit, NULL, WHEN(has_exited));
    MADE(INT, "signal", make_signal, NULL, WHEN(was_signaled));
    FIELD(AMOUNT, "interval_seconds", interval_ms, NULL, SCALE(1e-3));
    FIELD(INT, "samples", usage.course.seen, NULL);
    FIELD(TEXT, "error", problem, "Why the GPUs could not be sampled", WHEN(is_blind));
    FIELD(BOOL, "used_gpu", usage.course.on_gpu, NULL, .state = use_state);
    MADE(WORD, "basis", make_basis, "What is counted: its processes, or all of a GPU");
    LEVEL("memory", "bytes", usage.course.vram_bytes, 1, .state = vram_bytes_state);
    LEVEL("utilization", "percent", usage.course.util_permille, 0.1, .state = util_permille_state);
    LEVEL("power", "watts", usage.course.power_mw, 1e-3, .state = power_mw_state, WHEN(is_on_gpu));
    MADE(NUMBER, "energy_joules", make_energy, NULL, .state = power_mw_state, WHEN(is_on_gpu));
    MADE(NUMBER, "attributed_energy_joules", make_attributed, "The part that the program explains", .state = power_mw_state,
         WHEN(is_on_gpu));
    MADE(NUMBER, "cost", make_cost, NULL, .state = cost_state, WHEN(has_cost));
    FIELD(WORD, "currency", currency, NULL, WHEN(has_price));
    FIELD(NUMBER, "throttled_total_seconds", usage.course.slowed_s, NULL, .state = use_state);
    MADE(WORD, "limited_by", make_limit, NULL, .state = use_state);
    FIELD(TEXT, "cpu_time", cpu_time, "Where it spent its CPU time while its own side limited it", OR_NULL);
    FIELD(KEYS, NULL, told, NULL, FIELDS(lines_answer));
    OBJECTS("phases", phases, phase_count, phase_answer, NULL, .state = use_state);
    FIELD(OBJECT, "limits", usage.course, "For how long each limited it", FIELDS(limits_of_run), .state = use_state);
    FIELD(OBJECT, "throttled_seconds", usage.course, NULL, FIELDS(throttled_answer), .state = use_state);
    EACH(OBJECT, "gpus", next_gpu, "Those that it used", FIELDS(run_gpu_answer), .state = use_state);
}

static void watch_json(struct buf *out, struct watched *w)
{
    w->told = told_lines(w->lines.known ? &w->lines.lines : NULL, w->lines.known ? "" : w->lines.err.text);
    w->phase_count = w->usage.course.moments ? course_phases(&w->usage.course, w->phases) : 0;
    answer_write(JSON_PAGE(out), &watch_answer, w, NULL);
}

enum { INTERVAL_MS = 1000, FIRST_MS = 200, CANNOT_RUN = 126, NOT_FOUND = 127 };

/* ---- sampling ---- */

/* A thread samples where the program spends its CPU time, so that its end is noticed at once. */
struct cpu_sampler {
    pthread_t thread;
    bool running, known;
    _Atomic bool done;
    struct mono began;
    const struct env *env;
    int32_t pid;
    struct address_samples found;
};

struct watcher {
    struct cli *cli;
    struct session *session; /* NULL: sampling is not possible */
    struct watched *w;
    struct process_tree tree;
    struct cpu_sampler sampler;
};

static void *take_cpu_samples(void *user)
{
    enum { SAMPLE_MS = 500 };
    struct cpu_sampler *c = user;
    address_samples_take(c->env, c->pid, SAMPLE_MS, true, &c->found);
    c->done = true;
    return NULL;
}

/* Takes the result, unless it is worse than the previous one. */
static void end_cpu_samples(struct watcher *l)
{
    struct cpu_sampler *c = &l->sampler;
    if (!c->running)
        return;
    pthread_join(c->thread, NULL);
    c->running = false;
    if (c->found.state == READING_OK || !c->known)
        address_samples_words(&c->found, l->w->cpu_time);
    c->known |= c->found.state == READING_OK;
}

/* A process of the program that is limited by its host side; 0: none. */
static int32_t limited_by_host(const struct watcher *l, const struct snapshot *s)
{
    for (size_t g = 0; g < s->gpu_count; g++)
        for (size_t i = 0; i < s->gpus[g].process_count; i++) {
            const struct process *p = &s->gpus[g].processes[i];
            if (!s->gpus[g].simulated && limit_side(p->limit.code) == LIMIT_SIDE_HOST && tree_has(&l->tree, p->pid))
                return p->pid;
        }
    return 0;
}

static void sample_cpu(struct watcher *l, const struct snapshot *s)
{
    enum { AGAIN_MS = 60000 };
    struct cpu_sampler *c = &l->sampler;
    struct mono now = clock_mono(&clock_system);
    if (c->running && c->done)
        end_cpu_samples(l);
    if (c->running || (c->began.ns && mono_since_ms(now, c->began) < AGAIN_MS))
        return;
    if (!(c->pid = limited_by_host(l, s)))
        return;
    c->env = &l->cli->env;
    c->began = now;
    c->done = false;
    c->running = pthread_create(&c->thread, NULL, take_cpu_samples, c) == 0;
}

/* Skips a sample that fails: the program continues. */
static void take_sample(struct watcher *l)
{
    struct error err = {0};
    struct tree_use use;
    if (!l->session)
        return;
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(l->session, GROUP_ALL, &err);
    tree_look(&l->tree, &l->cli->env, &use);
    if (!s)
        return;
    usage_see(&l->w->usage, s, clock_mono(&clock_system), &l->tree, &use);
    sample_cpu(l, s);
}

/* Samples before the program starts. -EINVAL: wrong usage. */
static int watch_begin(struct watcher *l, struct error *err)
{
    struct error why = {0};
    int only = ALL_GPUS;
    l->session = session_open(l->cli, &why);
    if (l->session)
        session_set_max_age(l->session, 0);
    AUTO_SNAPSHOT const struct snapshot *s = l->session ? session_sample(l->session, GROUP_ALL, &why) : NULL;
    if (s && session_only(l->session, s, &only, err) < 0)
        return -EINVAL;
    if (s && usage_init(&l->w->usage, s, clock_mono(&clock_system), only == ALL_GPUS ? -1 : only) == 0)
        return tree_init(&l->tree, getpid());
    l->w->blind = true;
    str_copy(l->w->problem, sizeof l->w->problem, str_from(why.text[0] ? why.text : "out of memory"));
    session_close(TAKE(l->session));
    return 0;
}

static void follow(struct watcher *l, struct program *p)
{
    struct mono began = clock_mono(&clock_system), next = began;
    int64_t step_ms = MIN_OF(l->w->interval_ms, FIRST_MS); /* begin fast, to catch a short program */
    if (l->session)
        tree_look(&l->tree, &l->cli->env, &(struct tree_use){0});
    watch_lines_begin(&l->w->lines, &l->cli->env, p->pid);
    while (!program_has_ended(p)) {
        next.ns += step_ms * NS_PER_MS;
        int64_t left_ms = mono_since_ms(next, clock_mono(&clock_system));
        if (left_ms > 0) {
            program_wait(p, left_ms);
            if (program_has_ended(p))
                break;
            if (mono_since_ms(next, clock_mono(&clock_system)) > 0) {
                next.ns -= step_ms * NS_PER_MS; /* woken early */
                continue;
            }
        } else {
            next = clock_mono(&clock_system); /* sampling is slower than this interval */
        }
        take_sample(l);
        step_ms = MIN_OF(2 * step_ms, l->w->interval_ms);
    }
    struct mono ended = clock_mono(&clock_system);
    struct error err = {0};
    l->w->status = p->status;
    end_cpu_samples(l);
    watch_lines_end(&l->w->lines);
    AUTO_SNAPSHOT const struct snapshot *s = l->session ? session_sample(l->session, GROUP_ALL, &err) : NULL;
    if (l->session)
        usage_end(&l->w->usage, s, ended);
    l->w->seconds = (double)(ended.ns - began.ns) / 1e9;
}

/* ---- the end ---- */

int watch_write(struct cli *cli, const struct buf *report, FILE *otherwise)
{
    const char *file = options_value(cli->options, "output", NULL);
    FILE *to = file ? fopen(file, "we") : otherwise;
    if (!to)
        return cli_fail("cannot write '%s': %s", file, strerror(errno));
    bool fine = !report->failed && fwrite(report->at, 1, report->len, to) == report->len;
    if (file)
        fine = fclose(to) == 0 && fine;
    return fine ? EXIT_FINE : cli_fail("cannot write the report: %s", strerror(errno));
}

static void write_report(struct cli *cli, struct watched *w)
{
    AUTO_BUF struct buf out = BUF(16 << 20);
    const char *folded = options_value(cli->options, "folded", NULL);
    struct page page = cli->page;
    page.color = page.color && isatty(STDERR_FILENO);
    if (cli->json)
        watch_json(&out, w);
    else
        watch_text(&out, &page, w);
    if (!cli->json && options_has(cli->options, "lines"))
        watch_lines_tree(&out, &page, &w->lines);
    watch_write(cli, &out, stderr);
    if (folded)
        watch_lines_folded(&w->lines, folded);
}

/* 0, or the exit status if it could not be started. */
static int start(struct program *p, const char *const *argv)
{
    int rc = program_start(p, argv);
    if (rc == 0)
        return 0;
    cli_fail("cannot start '%s': %s", argv[0], strerror(-rc));
    return rc == -ENOENT ? NOT_FOUND : CANNOT_RUN;
}

static int watch_run(struct cli *cli)
{
    static struct watched w;
    struct error err = {0};
    struct watcher l = {.cli = cli, .w = &w};
    struct program program = {0};
    w = (struct watched){.argv = cli->options->arguments,
                         .argc = cli->options->argument_count,
                         .interval_ms = INTERVAL_MS,
                         .price_per_kwh = cli->settings->energy.price_per_kwh,
                         .currency = cli->settings->energy.currency,
                         .lines.wanted = options_has(cli->options, "lines")};
    const char *pid = options_value(cli->options, "pid", NULL);
    if (options_seconds(cli->options, "interval", &w.interval_ms, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    if (options_has(cli->options, "queues"))
        return pid || w.argc ? cli_usage(cli, "--queues covers all programs on the GPUs: it only takes --for") : watch_queues(cli);
    if (pid && w.argc)
        return cli_usage(cli, "--pid watches a running program: it can't be combined with a command");
    if (pid)
        return watch_running(cli, pid);
    if (!w.argc)
        return cli_usage(cli, "missing COMMAND, or --pid PID of a running program");
    if (options_has(cli->options, "for"))
        return cli_usage(cli, "--for goes with --pid and --queues; a command is watched until it ends");
    int result = watch_begin(&l, &err);
    if (result < 0)
        return result == -EINVAL ? cli_usage(cli, "%s", err.text) : cli_fail("out of memory");
    w.started_at = clock_wall(cli->env.clock);
    int status = start(&program, w.argv);
    if (status == 0) {
        follow(&l, &program);
        w.cpu_s = MAX_OF(program_cpu_seconds(&program), 0.0);
        write_report(cli, &w);
        status = -1;
    }
    session_close(l.session);
    tree_done(&l.tree);
    watch_lines_done(&w.lines);
    if (!w.blind)
        usage_done(&w.usage);
    if (status >= 0)
        return status;
    status = program_end_like(&program);
    program_close(&program);
    return status;
}

static const struct option_spec options[] = {
    {.name = "interval", .argument = "SECONDS", .help = "Sample every SECONDS (default: 1)"},
    {OPTION_OUTPUT("Write the report to FILE instead of stderr")},
    {.name = "pid", .argument = "PID", .help = "Show in which lines a running Python program spends its time"},
    {.name = "for", .argument = "DURATION", .help = "With --pid or --queues: for how long (default: 10s, 2s)"},
    {.name = "queues", .help = "Trace who waits for whom in the kernel's queues of GPU jobs, as root"},
    {.name = "lines", .help = "List its calls as a tree, each with its share of the time"},
    {.name = "folded",
     .argument = "FILE",
     .complete = COMPLETE_FILE,
     .help = "Write its stacks to FILE, for flamegraph.pl or speedscope"},
};

const struct command command_watch = {
    .exits = "The program's own, also by a signal; 126 it can't be run; 127 it was not found; 2 wrong usage or configuration.",
    .name = "watch",
    .group = HELP_EXPLAIN,
    .summary = "Run a program; report VRAM, energy, phases and what limited it",
    .details =
        "Like time(1), for GPUs. The program keeps the terminal, stdin, stdout and stderr; the report goes to stderr when it "
        "ends, or to the file of --output. Its children are counted, also those that leave it. Phases are starting, loading, "
        "computing, saving, waiting, and ending; limits are compute, memory bandwidth, PCIe, the host's CPU, disk, power, "
        "heat, and other programs on the GPU. Asks a running daemon, or samples directly.\n\nOf a Python program (CPython 3.8 to "
        "3.15) it says in which lines it and its children spend their time, 20 samples a second. With --pid it samples a running "
        "program for 10 seconds or --for, 100 times a second, without stopping it. That takes the same "
        "user and kernel.yama.ptrace_scope 0, or root.\n\nWith --queues it traces the kernel's scheduler of GPU jobs for "
        "2 seconds or --for: which threads' jobs waited for those of others. Drivers that don't use it show nothing.",
    .arguments = "-- COMMAND...",
    .arguments_max = ARGUMENTS_MAX,
    OPTIONS(options),
    .examples = {{"whirr watch -- python3 train.py", "what it used, and what limited it"},
                 {"whirr watch --json -o run.json -- ./benchmark", "the same as data"},
                 {"whirr watch --pid 4242 --for 10s --lines", "in which lines a Python program spends its time"}},
    .run = watch_run,
};
