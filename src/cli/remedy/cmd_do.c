/* SPDX-License-Identifier: Apache-2.0
 * whirr do, whirr try: makes a remedy of the newest answer, measures before and after, and keeps it or takes it back.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/answers.h"
#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"
#include "cli/control/change.h"
#include "cli/remedy/remedy_cli.h"
#include "config/config.h"
#include "config/places.h"
#include "remedy/act.h"
#include "remedy/measure.h"

/* ---- the newest answer that this user was shown: `whirr do 1` means its first remedy, on its GPU and its source ---- */

enum { ANSWER_REMEDIES_MAX = WHY_SUGGESTIONS_MAX };

struct shown_answer {
    char source[256]; /* --source of it; "": none */
    int gpu_index;
    size_t count;
    enum remedy_code codes[ANSWER_REMEDIES_MAX];
};

static bool answer_file(char path[PLACE_SIZE + 16])
{
    char folder[PLACE_SIZE];
    if (place_runtime(folder, NULL) < 0)
        return false;
    snprintf(path, PLACE_SIZE + 16, "%s/shown-answer", folder);
    return true;
}

void shown_answer_keep(const struct cli *cli, const struct why *why, int only)
{
    char path[PLACE_SIZE + 16];
    const struct why_part *part = why->gpu_count ? &why->gpus[only >= 0 ? (size_t)only : why->main] : NULL;
    if (!part || !part->suggestion_count || cli->host || cli->ask.source_count > 1 || !answer_file(path))
        return;
    FILE *f = fopen(path, "we");
    if (!f)
        return;
    fprintf(f, "source %s\ngpu %d\n", cli->ask.source_count ? cli->ask.sources[0] : "", part->gpu_index);
    for (size_t i = 0; i < part->suggestion_count; i++)
        fprintf(f, "%s\n", remedy_row(part->remedies[i].code)->code);
    fclose(f);
}

static bool shown_answer_find(struct shown_answer *ret)
{
    char path[PLACE_SIZE + 16], line[300];
    FILE *f = answer_file(path) ? fopen(path, "re") : NULL;
    *ret = (struct shown_answer){.gpu_index = -1};
    if (!f)
        return false;
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "source ", 7) == 0)
            str_copy(ret->source, sizeof ret->source, str_from(line + 7));
        else if (strncmp(line, "gpu ", 4) == 0)
            ret->gpu_index = (int)strtol(line + 4, NULL, 10);
        else if (ret->count < ANSWER_REMEDIES_MAX && remedy_from_name(line, &ret->codes[ret->count]))
            ret->count++;
    }
    fclose(f);
    return ret->count > 0 && ret->gpu_index >= 0;
}

void expect_remedies(const struct snapshot *now, struct why *why)
{
    AUTO_EFFECTS struct effects all = {0};
    bool any = false;
    for (size_t g = 0; g < why->gpu_count; g++)
        any |= why->gpus[g].suggestion_count > 0;
    if (!any)
        return;
    effects_read(&all);
    effects_expect_all(&all, now, why);
}

enum { MEASURE_MS = 60000, MEASURE_IDLE_MS = 20000, KEEP_MS = 2 * 3600 * 1000, SAMPLE_MS_MAX = 1000, SAMPLES_WANTED = 8 };

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    interrupted = number;
}

/* ---- the command ---- */

struct do_command {
    struct cli *cli;
    struct session *session;
    const struct snapshot *now;
    struct why *why;
    const struct gpu *gpu;
    const struct remedy *remedy;
    int64_t measure_ms;
    const char *sentence;
    char keep[96]; /* the command that keeps what was tried */
    struct act act;
    struct remedy_doing doing;
};

static int read_measure(struct cli *cli, int64_t *ms)
{
    const char *text = options_value(cli->options, "measure", NULL);
    if (text && (!duration_parse(str_from(text), ms) || *ms < 300))
        return cli_usage(cli, "'--measure %s' is not %s", text, DURATION_SYNTAX);
    return EXIT_FINE;
}

static int read_options(struct do_command *d, long *number)
{
    struct cli *cli = d->cli;
    const struct options *o = cli->options;
    const char *span = options_value(o, "for", NULL), *until = options_value(o, "until", NULL);
    const char *keep_if = options_value(o, "keep-if", NULL);
    struct wall now = clock_wall(cli->env.clock);
    int64_t ms = KEEP_MS;
    char *end;
    *number = strtol(o->arguments[0], &end, 10);
    snprintf(d->keep, sizeof d->keep, "whirr do %ld", *number);
    if (*end || *number < 1)
        return cli_usage(cli, "'%s' is not the number of a remedy; `whirr why` lists them", o->arguments[0]);
    if (span && until)
        return cli_usage(cli, "choose one of --for and --until");
    int status = options_span(cli, "for", &ms);
    if (status != EXIT_FINE)
        return status;
    d->doing.until.ms = now.ms + ms;
    if (until && !moment_parse_ahead(str_from(until), now, now, MOMENT_LOCAL, &d->doing.until))
        return cli_usage(cli, "invalid value '%s' for --until; expected " MOMENT_AHEAD_SYNTAX, until);
    d->doing.measure_ms = MEASURE_MS;
    if (read_measure(cli, &d->doing.measure_ms) != EXIT_FINE)
        return EXIT_USAGE;
    d->doing.has_keep_if = keep_if != NULL;
    if (keep_if && !keep_if_parse(keep_if, &d->doing.keep_if))
        return cli_usage(cli, "'--keep-if %s' is not like 'fan < 70%%'; fan, power, temperature, clock or tokens", keep_if);
    return EXIT_FINE;
}

/* Looks again: the answer may be another by now. */
static int find_remedy(struct do_command *d, const struct shown_answer *shown, long number)
{
    struct cli *cli = d->cli;
    struct error err = {0};
    int only = ALL_GPUS;
    d->session = session_open(cli, &err);
    if (!d->session || explain_now(cli, d->session, &d->now, &d->why, &err) < 0 ||
        session_only(d->session, d->now, &only, &err) < 0)
        return cli_error(cli, &err);
    if (!d->why->gpu_count)
        return cli_fail("%s", d->why->answer);
    size_t at = only >= 0 ? (size_t)only : d->why->main;
    for (size_t i = 0; only < 0 && i < d->why->gpu_count; i++)
        if (shown->count && d->why->gpus[i].gpu_index == shown->gpu_index)
            at = i;
    expect_remedies(d->now, d->why);
    const struct why_part *part = &d->why->gpus[at];
    bool known = shown->count && shown->gpu_index == part->gpu_index;
    size_t count = known ? shown->count : part->suggestion_count, found = (size_t)number - 1;
    if ((size_t)number > count)
        return count ? cli_fail("there is no remedy %ld for GPU %d; `whirr why` lists %zu", number, part->gpu_index, count)
                     : cli_fail("there is nothing to do about GPU %d\n%s", part->gpu_index, part->answer);
    for (found = 0; known && found < part->suggestion_count; found++)
        if (part->remedies[found].code == shown->codes[number - 1])
            break;
    if (!known)
        found = (size_t)number - 1;
    if (found == part->suggestion_count)
        return cli_fail("this advice no longer applies; nothing was changed\n%s", part->answer);
    d->gpu = &d->now->gpus[at];
    d->remedy = &part->remedies[found];
    d->sentence = part->suggestions[found];
    struct remedy_doing *doing = &d->doing;
    doing->gpu_index = d->gpu->index;
    doing->simulated = d->gpu->simulated;
    doing->remedy = *d->remedy;
    str_copy(doing->gpu, sizeof doing->gpu, str_from(gpu_id_key(&d->gpu->id)));
    str_copy(doing->gpu_name, sizeof doing->gpu_name, str_from(d->gpu->id.name));
    return EXIT_FINE;
}

static bool is_for_a_person(const struct do_command *d)
{
    return remedy_row(d->remedy->code)->kind != REMEDY_SETTING;
}

static void print_plan(struct do_command *d, const struct change_list *l)
{
    char until[MOMENT_TEXT_SIZE], words[EFFECT_WORDS];
    struct remedy_doing *doing = &d->doing;
    AUTO_BUF struct buf label = BUF(64);
    moment_format(doing->until, clock_wall(d->cli->env.clock), until);
    act_words(l, doing->plan, sizeof doing->plan);
    page_simulated_line(&label, &d->cli->page, doing->simulated);
    fputs(label.len ? label.at : "", stdout);
    if (is_for_a_person(d))
        printf("GPU %d: %s\nThat is for a person: on a real host, whirr would do nothing. Here the simulation does it",
               doing->gpu_index, d->sentence);
    else
        printf("%s", doing->plan);
    printf("%s%s.", doing->trying ? ", and back" : " until ", doing->trying ? "" : until);
    for (size_t i = 0; i < d->remedy->affects_count; i++)
        printf("%s%s%s", i ? ", " : " Affects ", d->remedy->affects[i], i + 1 == d->remedy->affects_count ? "." : "");
    puts(doing->trying ? "" : " Undo: whirr undo 1");
    const struct remedy_values from = effect_base(d->gpu->util_permille, d->gpu->clock_graphics_khz);
    bool moves = d->remedy->source && effect_words(&d->remedy->expected, &from, words)[0];
    printf("  expected  %s%s\n",
           moves               ? "about "
           : d->remedy->source ? "nothing that can be measured, as before"
                               : "not known yet: this was never measured here",
           moves ? words : "");
}

static bool agreed(const struct do_command *d, const char *question)
{
    char line[16];
    if (options_has(d->cli->options, "yes"))
        return true;
    printf("%s [y/N] ", question);
    fflush(stdout);
    return fgets(line, sizeof line, stdin) && (line[0] == 'y' || line[0] == 'Y');
}

static void keep_effect(const struct do_command *d)
{
    struct effect e;
    struct error err = {0};
    if (doing_effect(&d->doing, clock_wall(d->cli->env.clock), &e) && effects_add(&e, &err) < 0)
        fprintf(stderr, "whirr: the measurement could not be saved: %s\n", err.text);
}

static void show_measured(const char *when, const struct measured *m)
{
    char words[MEASURED_WORDS];
    printf("  %-9s%s\n", when, measured_words(m, words));
    fflush(stdout);
}

/* One sample, and what it says once a measurement is complete. */
static void sample_doing(struct do_command *d)
{
    struct remedy_doing *doing = &d->doing;
    struct error err = {0};
    char words[WORDS_SIZE], when[WORDS_SIZE + 4];
    bool before = doing->has_before, after = doing->has_after;
    pause_ms(MAX_OF((int64_t)1, MIN_OF(doing->run.ms / SAMPLES_WANTED, (int64_t)SAMPLE_MS_MAX)));
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(d->session, GROUP_FAST | GROUP_PROCESS, &err);
    if (!s) {
        doing_stop(doing, err.text);
        return;
    }
    doing_sample(doing, snapshot_gpu(s, doing->gpu_index), s->taken_at);
    if (doing->has_before && !before)
        show_measured("now", &doing->before);
    snprintf(when, sizeof when, "in %s", words_duration(doing->measure_ms, words));
    if (doing->has_after && !after)
        show_measured(when, &doing->after);
    if (doing->has_again)
        show_measured("and back", &doing->again);
}

static void begin_doing(struct do_command *d, const struct change_list *l)
{
    struct remedy_doing *doing = &d->doing;
    AUTO_FREE struct lease *lease = calloc(1, sizeof *lease);
    struct error err = {0};
    if (doing->trying)
        doing->until.ms = clock_wall(d->cli->env.clock).ms + doing->measure_ms + MEASURE_MS; /* should this process be killed */
    int rc = lease ? act_begin(&d->act, l, "whirr do", &doing->until, lease, &err) : error_set(&err, -ENOMEM, "out of memory");
    if (rc == 0)
        str_copy(doing->lease_id, sizeof doing->lease_id, str_from(lease->id));
    doing_began(doing, rc, &err, clock_wall(d->cli->env.clock));
}

static void end_doing(struct do_command *d)
{
    struct remedy_doing *doing = &d->doing;
    struct error err = {0};
    char words[SETTINGS_WORDS];
    bool asks = doing->outcome == DOING_NO_EFFECT && !doing->trying && !doing->has_keep_if && !interrupted;
    if (asks && !options_has(d->cli->options, "yes")) {
        puts(doing->text);
        if (!agreed(d, "Take it back?")) {
            doing->kept = true;
            doing->phase = DOING_OVER;
            return;
        }
    }
    int rc = act_end(&d->act, doing->lease_id, words, &err);
    if (rc == 0)
        printf("Ended: %s.\n", words[0] ? words : "the old values are back");
    doing_ended(doing, rc == -ENOENT ? 0 : rc, &err, clock_wall(d->cli->env.clock));
}

static int print_outcome(const struct do_command *d)
{
    const struct remedy_doing *doing = &d->doing;
    char until[MOMENT_TEXT_SIZE];
    if (interrupted)
        return 128 + interrupted;
    if (doing->outcome == DOING_FAILED)
        return cli_fail("%s", doing->text);
    puts(doing->text);
    if (doing->outcome != DOING_UNCLEAR)
        keep_effect(d);
    if (doing->trying && doing->outcome == DOING_MEASURED)
        printf("To keep it: %s\n", d->keep);
    if (doing->trying)
        return doing->outcome == DOING_MEASURED ? EXIT_FINE : EXIT_FAILED;
    if (!doing->kept)
        return EXIT_FAILED;
    if (doing->until.ms) {
        moment_format(doing->until, clock_wall(d->cli->env.clock), until);
        printf("Kept until %s. To take it back now: whirr undo 1\n", until);
    } else
        puts("Kept until you take it back (whirr undo 1): only whirr-control can end it at a set time.");
    return EXIT_FINE;
}

static int make(struct do_command *d, const struct change_list *l)
{
    struct remedy_doing *doing = &d->doing;
    const struct sigaction stop = {.sa_handler = interrupt};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    session_set_max_age(d->session, 0);
    doing_start(doing, clock_wall(d->cli->env.clock));
    while (doing->phase != DOING_OVER) {
        if (interrupted && (doing->phase == DOING_BEFORE || doing->phase == DOING_AFTER || doing->phase == DOING_AGAIN))
            doing_stop(doing, "interrupted");
        else if (doing->phase == DOING_BEGIN)
            begin_doing(d, l);
        else if (doing->phase == DOING_END)
            end_doing(d);
        else
            sample_doing(d);
    }
    return print_outcome(d);
}

/* What another user holds is for them to do. */
static bool is_of_another(const struct do_command *d)
{
    const struct gpu_lease *held = &d->gpu->lease;
    AUTO_FREE struct lease *own = calloc(1, sizeof *own);
    if (!own || !held->id[0] || d->gpu->simulated || geteuid() == 0)
        return false;
    lease_init(own, LEASE_SETTING, 0, clock_wall(d->cli->env.clock));
    return strcmp(held->user, own->user) != 0;
}

static int do_it(struct do_command *d)
{
    AUTO_CHANGES struct change_list changed = {0};
    struct error err = {0};
    const struct options *o = d->cli->options;
    if (is_for_a_person(d) && !d->gpu->simulated) {
        printf("%s\n", d->sentence);
        return cli_fail("that is for a person; whirr can't do it");
    }
    if (is_of_another(d))
        return cli_fail("GPU %d is reserved for %s\nThat is for them to do: %s", d->gpu->index, d->gpu->lease.user,
                        d->remedy->command[0] ? d->remedy->command : "whirr do");
    if (change_simulated(d->cli, d->now, &err) < 0 || act_plan(&d->act, d->gpu, d->remedy->code, &changed, &err) < 0)
        return cli_fail("%s", err.text);
    if (d->remedy->code == REMEDY_PARK_CLOCKS && changed.count)
        snprintf(d->keep, sizeof d->keep, "whirr set clocks %lld --gpu %d --for 2h", (long long)changed.at[0].setting.value.high,
                 d->gpu->index);
    print_plan(d, &changed);
    if (options_has(o, "dry-run")) {
        puts("Nothing was changed (dry run).");
        return EXIT_FINE;
    }
    if (act_is_denied(&d->act, &changed))
        return cli_fail(CHANGE_NEEDS_ROOT "\nFor someone who may: sudo %s",
                        d->remedy->command[0] ? d->remedy->command : "whirr do");
    if (!options_has(o, "yes") && !isatty(STDIN_FILENO))
        return cli_usage(d->cli, "nobody can be asked here: add --yes to do it, or --dry-run to see it");
    if (!agreed(d, d->doing.trying ? "Try it?" : "Do it?")) {
        puts("Nothing was changed.");
        return EXIT_FAILED;
    }
    return make(d, &changed);
}

/* ---- what can be tried on an idle GPU ---- */

static void try_one(struct do_command *d, int *status, const struct gpu *gpu, const struct remedy *remedy, const char *sentence)
{
    d->gpu = gpu;
    d->remedy = remedy;
    d->sentence = sentence;
    d->doing = (struct remedy_doing){
        .trying = true, .measure_ms = d->measure_ms, .gpu_index = gpu->index, .simulated = gpu->simulated, .remedy = *remedy};
    str_copy(d->doing.gpu, sizeof d->doing.gpu, str_from(gpu_id_key(&gpu->id)));
    str_copy(d->doing.gpu_name, sizeof d->doing.gpu_name, str_from(gpu->id.name));
    printf("GPU %d: %s\n", gpu->index, sentence);
    int rc = do_it(d);
    *status = MAX_OF(*status, rc);
}

/* Settings that were advised, and low clocks: nothing of a program, and each goes back before the next one. */
static void try_at_rest(struct do_command *d, int *status, const struct gpu *gpu, const struct why_part *part)
{
    struct remedy park = {.code = REMEDY_PARK_CLOCKS};
    if (gpu->state != GPU_OK || !learn_rests(gpu)) {
        printf("GPU %d is not idle: nothing is tried.\n", gpu->index);
        return;
    }
    for (size_t i = 0; i < part->suggestion_count && !interrupted; i++)
        if (remedy_row(part->remedies[i].code)->kind == REMEDY_SETTING) {
            snprintf(d->keep, sizeof d->keep, "whirr do %d", (int)part->remedies[i].number);
            try_one(d, status, gpu, &part->remedies[i], part->suggestions[i]);
        }
    AUTO_EFFECTS struct effects all = {0};
    effects_read(&all);
    effects_expect(&all, gpu, &park);
    if (!interrupted)
        try_one(d, status, gpu, &park, remedy_row(REMEDY_PARK_CLOCKS)->text);
}

int remedy_try_idle(struct cli *cli)
{
    struct do_command d = {.cli = cli, .measure_ms = MEASURE_IDLE_MS, .act = {&cli->env, cli->settings->lease.dir}};
    struct error err = {0};
    int only = ALL_GPUS, status = read_measure(cli, &d.measure_ms);
    if (status != EXIT_FINE)
        return status;
    d.session = session_open(cli, &err);
    if (!d.session || explain_now(cli, d.session, &d.now, &d.why, &err) < 0 || session_only(d.session, d.now, &only, &err) < 0)
        status = cli_error(cli, &err);
    if (d.why)
        expect_remedies(d.now, d.why);
    for (size_t i = 0; status != EXIT_USAGE && d.why && i < d.why->gpu_count && !interrupted; i++)
        if (only < 0 || (size_t)only == i)
            try_at_rest(&d, &status, &d.now->gpus[i], &d.why->gpus[i]);
    why_free(d.why);
    snapshot_unref(d.now);
    session_close(d.session);
    return status;
}

static int remedy_run(struct cli *cli, bool trying)
{
    static struct shown_answer shown; /* its source is used until the end */
    struct do_command d = {.cli = cli, .act = {&cli->env, cli->settings->lease.dir}, .doing.trying = trying};
    long number;
    int status = read_options(&d, &number);
    if (status != EXIT_FINE)
        return status;
    if (!shown_answer_find(&shown) || (cli->ask.source_count && strcmp(shown.source, cli->ask.sources[0]) != 0))
        shown.count = 0;
    else if (shown.source[0] && !cli->ask.source_count)
        cli->ask.sources[cli->ask.source_count++] = shown.source;
    status = find_remedy(&d, &shown, number);
    if (status == EXIT_FINE)
        status = do_it(&d);
    why_free(d.why);
    snapshot_unref(d.now);
    session_close(d.session);
    return status;
}

static int do_run(struct cli *cli)
{
    return remedy_run(cli, false);
}

static int try_run(struct cli *cli)
{
    return remedy_run(cli, true);
}

#define OPTION_YES .name = "yes", .letter = 'y', .help = "Don't ask"
#define OPTION_MEASURE .name = "measure", .argument = "DURATION", .help = "Measure for this long (default: 1 minute)"
static const struct option_spec do_options[] = {
    {OPTION_YES},
    {OPTION_DRY_RUN},
    {OPTION_MEASURE},
    {.name = "for", .argument = "DURATION", .help = "Keep it for this long (default: 2h)"},
    {.name = "until", .argument = "TIME", .help = "Keep it until this time, like 08:00"},
    {.name = "keep-if", .argument = "CONDITION", .help = "Take it back unless this holds then: 'fan < 70%'"},
};
static const struct option_spec try_options[] = {{OPTION_YES}, {OPTION_DRY_RUN}, {OPTION_MEASURE}};

#define DO_EXITS                                                                                                               \
    "0 done and kept; 1 it failed, was refused, had no effect or no clear one, and the old values are back; 2 wrong usage or " \
    "configuration."

const struct command command_do = {
    .name = "do",
    .group = HELP_ACT,
    .summary = "Run a remedy that `whirr why` advises, and measure it",
    .details =
        "N is the number of a remedy in the last answer of `whirr why` that you saw. It checks again first, says what it would "
        "change and for whom, and asks. It measures before and after; what has no effect is taken back. The measured effect is "
        "what it expects the next time. Remedies that are not settings of a GPU are for a person, unless the GPU is simulated.",
    .exits = DO_EXITS,
    .arguments = "N",
    .arguments_min = 1,
    .arguments_max = 1,
    OPTIONS(do_options),
    .examples = {{"whirr do 1", "the first remedy, measured"},
                 {"whirr do 1 --until 08:00 --keep-if 'fan < 70%'", "until the morning, if it helps"},
                 {"whirr do 1 --dry-run", "what would be changed"}},
    .lacks = "json",
    .run = do_run,
};

const struct command command_try = {
    .name = "try",
    .group = HELP_ACT,
    .summary = "Test a remedy that `whirr why` advises, and take it back",
    .details =
        "Like `whirr do`, but takes it back in any case and measures once more. An effect counts only if going back undoes it "
        "and the load stayed the same; otherwise it says that it can't tell.",
    .exits = "0 it has an effect; 1 it has none, no clear one, or it failed; 2 wrong usage or configuration.",
    .arguments = "N",
    .arguments_min = 1,
    .arguments_max = 1,
    OPTIONS(try_options),
    .examples = {{"whirr try 1", "what the first remedy would bring"},
                 {"whirr try 1 --measure 20s", "quicker, less exact"},
                 {"whirr try 1 --dry-run", "what would be changed"}},
    .lacks = "json",
    .run = try_run,
};
