/* SPDX-License-Identifier: Apache-2.0
 * whirr do, whirr try: makes a remedy of the newest answer, measures before and after, and keeps it or takes it back.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/explain.h"
#include "base/cleanup.h"
#include "base/moment.h"
#include "base/words.h"
#include "cli/control/change.h"
#include "cli/remedy/remedy_cli.h"

enum { MEASURE_MS = 60000, KEEP_MS = 2 * 3600 * 1000, SAMPLES_MAX = 60, SAMPLES_LEAST = 6, BEFORE_PART = 12 };
/* Readings that move by less than this have not moved. */
enum { NOISE_PERMILLE = 20, NOISE_FAN_PERMILLE = 20, LOAD_PERMILLE = 150 };

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    interrupted = number;
}

/* ---- measuring ---- */

struct measured {
    struct remedy_values values;
    struct reading util_permille;
};

struct run_mean {
    int64_t sum, count;
};

static void mean_add(struct run_mean *m, struct reading r)
{
    int64_t value;
    if (reading_get(r, &value)) {
        m->sum += value;
        m->count++;
    }
}

static struct reading mean_of(const struct run_mean *m)
{
    return m->count ? reading_ok(m->sum / m->count) : reading_absent(READING_UNSUPPORTED);
}

static struct reading tokens_of(const struct gpu *gpu)
{
    struct run_mean sum = {0};
    for (size_t i = 0; i < gpu->process_count; i++)
        mean_add(&sum, gpu->processes[i].tokens_milli);
    return sum.count ? reading_ok(sum.sum) : reading_absent(READING_UNSUPPORTED);
}

/* The mean of the last third of that time, in which readings have settled. */
static int measure(struct session *session, int gpu_index, int64_t ms, struct measured *ret, struct error *err)
{
    enum { FAN, POWER, TEMP, CLOCK, TOKENS, UTIL, COUNT };
    struct run_mean m[COUNT] = {0};
    int64_t samples = MAX_OF((int64_t)SAMPLES_LEAST, MIN_OF(ms / 1000, (int64_t)SAMPLES_MAX));
    session_set_max_age(session, 0);
    for (int64_t i = 0; i < samples && !interrupted; i++) {
        pause_ms(ms / samples);
        AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_FAST | GROUP_PROCESS, err);
        const struct gpu *gpu = s ? snapshot_gpu(s, gpu_index) : NULL;
        if (!gpu)
            return s ? error_set(err, -ENODEV, "GPU %d is gone", gpu_index) : err->code;
        if (i * 3 < samples * 2)
            continue;
        const struct reading r[COUNT] = {gpu->fan_permille,       gpu->power_mw,  gpu->temp_mdegc,
                                         gpu->clock_graphics_khz, tokens_of(gpu), gpu->util_permille};
        for (size_t k = 0; k < COUNT; k++)
            mean_add(&m[k], r[k]);
    }
    *ret = (struct measured){{mean_of(&m[FAN]), mean_of(&m[POWER]), mean_of(&m[TEMP]), mean_of(&m[CLOCK]), mean_of(&m[TOKENS])},
                             mean_of(&m[UTIL])};
    return interrupted ? error_set(err, -EINTR, "interrupted") : 0;
}

static void show_measured(const char *when, const struct measured *m)
{
    int64_t value;
    printf("  %-9s", when);
    if (reading_get(m->values.fan_permille, &value))
        printf("  %3lld%% fan", words_whole(value, 10));
    if (reading_get(m->values.power_mw, &value))
        printf("  %4lld W", words_whole(value, 1000));
    if (reading_get(m->values.temp_mdegc, &value))
        printf("  %3lld °C", words_whole(value, 1000));
    if (reading_get(m->values.clock_khz, &value))
        printf("  %4lld MHz", words_whole(value, 1000));
    if (reading_get(m->values.tokens_milli, &value))
        printf("  %lld tokens/s", words_whole(value, 1000));
    putchar('\n');
    fflush(stdout);
}

static struct remedy_values changes(const struct measured *a, const struct measured *b)
{
    const struct remedy_values *x = &a->values, *y = &b->values;
    return (struct remedy_values){effect_change(x->fan_permille, y->fan_permille), effect_change(x->power_mw, y->power_mw),
                                  effect_change(x->temp_mdegc, y->temp_mdegc), effect_change(x->clock_khz, y->clock_khz),
                                  effect_change(x->tokens_milli, y->tokens_milli)};
}

static int64_t permille_of(int64_t change, int64_t of)
{
    return of ? llabs(change) * 1000 / of : 0;
}

static bool has_moved(const struct measured *from, const struct remedy_values *change)
{
    int64_t value, was;
    if (reading_get(change->power_mw, &value) && reading_get(from->values.power_mw, &was) &&
        permille_of(value, was) > NOISE_PERMILLE)
        return true;
    if (reading_get(change->clock_khz, &value) && reading_get(from->values.clock_khz, &was) &&
        permille_of(value, was) > NOISE_PERMILLE)
        return true;
    return reading_get(change->fan_permille, &value) && llabs(value) > NOISE_FAN_PERMILLE;
}

/* Percent by which the load changed, where that is too much to compare; 0: it stayed. */
static int load_changed(const struct measured *a, const struct measured *b)
{
    int64_t x, y;
    if (!reading_get(a->util_permille, &x) || !reading_get(b->util_permille, &y) || llabs(x - y) < LOAD_PERMILLE)
        return 0;
    return (int)words_whole(llabs(x - y), 10);
}

static bool is_near(struct reading expected, struct reading measured, int64_t least)
{
    int64_t e, m;
    return !reading_get(expected, &e) || !reading_get(measured, &m) || llabs(e - m) <= MAX_OF(llabs(e) / 5, least);
}

/* ---- --keep-if 'fan < 70%' ---- */

struct keep_if {
    size_t metric; /* of struct remedy_values */
    bool below;
    int64_t value;
};

static bool parse_keep_if(const char *text, struct keep_if *ret)
{
    static const struct {
        const char *name;
        int64_t scale;
    } metrics[] = {{"fan", 10}, {"power", 1000}, {"temperature", 1000}, {"clock", 1000}, {"tokens", 1000}};
    struct str rest = str_from(text), name;
    const char *op = strpbrk(text, "<>");
    if (!op)
        return false;
    ret->below = *op == '<';
    name = str_trim((struct str){text, (size_t)(op - text)});
    rest = str_trim(str_from(op + 1));
    while (rest.len && strchr("%WCMHz° /skt", rest.at[rest.len - 1]))
        rest.len--;
    for (size_t i = 0; i < ARRAY_LEN(metrics); i++)
        if (str_is(name, metrics[i].name)) {
            ret->metric = i;
            return str_to_scaled(rest, metrics[i].scale, &ret->value);
        }
    return false;
}

/* ---- the command ---- */

struct remedy_doing {
    struct cli *cli;
    struct session *session;
    const struct snapshot *now;
    struct why *why;
    const struct gpu *gpu;
    const struct remedy *remedy;
    const char *sentence;
    struct wall until;
    int64_t measure_ms;
    bool has_keep_if;
    struct keep_if keep_if;
};

static int read_options(struct remedy_doing *d, long *number)
{
    struct cli *cli = d->cli;
    const struct options *o = cli->options;
    const char *span = options_value(o, "for", NULL), *until = options_value(o, "until", NULL);
    const char *measured = options_value(o, "measure", NULL), *keep_if = options_value(o, "keep-if", NULL);
    struct wall now = clock_wall(cli->env.clock);
    int64_t ms = KEEP_MS;
    char *end;
    *number = strtol(o->arguments[0], &end, 10);
    if (*end || *number < 1)
        return cli_usage(cli, "'%s' is not the number of a remedy; `whirr why` lists them", o->arguments[0]);
    if (span && until)
        return cli_usage(cli, "choose one of --for and --until");
    if (span && (!duration_parse(str_from(span), &ms) || ms <= 0))
        return cli_usage(cli, "'--for %s' is not %s", span, DURATION_SYNTAX);
    d->until.ms = now.ms + ms;
    if (until && !moment_parse_ahead(str_from(until), now, now, MOMENT_LOCAL, &d->until))
        return cli_usage(cli, "invalid value '%s' for --until; expected " MOMENT_AHEAD_SYNTAX, until);
    d->measure_ms = MEASURE_MS;
    if (measured && (!duration_parse(str_from(measured), &d->measure_ms) || d->measure_ms < 300))
        return cli_usage(cli, "'--measure %s' is not %s", measured, DURATION_SYNTAX);
    d->has_keep_if = keep_if != NULL;
    if (keep_if && !parse_keep_if(keep_if, &d->keep_if))
        return cli_usage(cli, "'--keep-if %s' is not like 'fan < 70%%'; fan, power, temperature, clock or tokens", keep_if);
    return EXIT_FINE;
}

/* Looks again: the answer may be another by now. */
static int find_remedy(struct remedy_doing *d, const struct shown_answer *shown, long number)
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
    effects_expect_all(d->now, d->why);
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
        return cli_fail("that is no longer so; nothing was changed\n%s", part->answer);
    d->gpu = &d->now->gpus[at];
    d->remedy = &part->remedies[found];
    d->sentence = part->suggestions[found];
    return EXIT_FINE;
}

static void say_plan(const struct remedy_doing *d, const struct change_list *l, bool trying)
{
    char until[MOMENT_TEXT_SIZE], words[EFFECT_WORDS];
    moment_format(d->until, clock_wall(d->cli->env.clock), until);
    for (size_t i = 0; i < l->count; i++) {
        const struct change *c = &l->at[i];
        char now[CONTROL_TEXT_SIZE], new[CONTROL_TEXT_SIZE];
        control_text(c->setting.kind, c->state.unit, c->state.now, now);
        printf("GPU %d: %s %s -> %s%s%s.", c->setting.gpu_index, control_words(c->setting.kind),
               c->state.now_known ? now : "as it is", control_text(c->setting.kind, c->state.unit, c->setting.value, new),
               trying ? ", and back" : " until ", trying ? "" : until);
    }
    for (size_t i = 0; i < d->remedy->affects_count; i++)
        printf("%s%s%s", i ? ", " : " Affects ", d->remedy->affects[i], i + 1 == d->remedy->affects_count ? "." : "");
    puts(trying ? "" : " Undo: whirr undo");
    const struct remedy_values from = {.clock_khz = d->gpu->clock_graphics_khz};
    bool known = d->remedy->source && effect_words(&d->remedy->expected, &from, words)[0];
    printf("  expected  %s%s\n", known ? "about " : "not known yet: no such step was measured here", known ? words : "");
}

static bool agreed(const struct remedy_doing *d, const char *question)
{
    char line[16];
    if (options_has(d->cli->options, "yes"))
        return true;
    printf("%s [y/N] ", question);
    fflush(stdout);
    return fgets(line, sizeof line, stdin) && (line[0] == 'y' || line[0] == 'Y');
}

static void keep_effect(const struct remedy_doing *d, const struct measured *before, const struct measured *after)
{
    struct effect e = {
        .at = clock_wall(d->cli->env.clock), .code = d->remedy->code, .before = before->values, .after = after->values};
    struct error err = {0};
    str_copy(e.gpu, sizeof e.gpu, str_from(d->gpu->id.uuid[0] ? d->gpu->id.uuid : d->gpu->id.pci_address));
    str_copy(e.model, sizeof e.model, str_from(d->gpu->id.name));
    if (d->remedy->source)
        e.expected = d->remedy->expected;
    if (effects_add(&e, &err) < 0)
        fprintf(stderr, "whirr: the step could not be remembered: %s\n", err.text);
}

/* Says what came of it. True: keep it. */
static bool judge_step(struct remedy_doing *d, const struct measured *before, const struct measured *after)
{
    struct remedy_values change = changes(before, after);
    char words[EFFECT_WORDS];
    int load = load_changed(before, after);
    int64_t value;
    if (load) {
        printf("Can't tell what it did: the load changed by %d%%.\n", load);
        return !d->has_keep_if;
    }
    keep_effect(d, before, after);
    effect_words(&change, &before->values, words);
    bool moved = has_moved(before, &change);
    const struct remedy_values *e = &d->remedy->expected;
    if (!moved)
        puts("No effect: nothing moved by more than the noise.");
    else if (!d->remedy->source)
        printf("Measured: %s.\n", words);
    else if (is_near(e->power_mw, change.power_mw, 3000) && is_near(e->fan_permille, change.fan_permille, 30))
        printf("Measured: %s, as expected.\n", words);
    else
        printf("Measured: %s, not as expected.\n", words);
    if (d->has_keep_if) {
        struct reading r = ((const struct reading *)&after->values)[d->keep_if.metric];
        return reading_get(r, &value) && (d->keep_if.below ? value < d->keep_if.value : value > d->keep_if.value);
    }
    return moved || !(options_has(d->cli->options, "yes") || agreed(d, "Take it back?"));
}

static const char *in_words(int64_t ms, char out[WORDS_SIZE + 4])
{
    char words[WORDS_SIZE];
    snprintf(out, WORDS_SIZE + 4, "in %s", words_duration(ms, words));
    return out;
}

/* Before, with it, and before again: an effect counts only where going back undoes it. */
static int finish_try(struct remedy_doing *d, const struct measured *before, const struct measured *with, const struct lease *lease)
{
    struct measured again;
    struct error err = {0};
    int status = act_end(d->cli, lease);
    if (status != EXIT_FINE || interrupted)
        return status != EXIT_FINE ? status : 128 + interrupted;
    if (measure(d->session, d->gpu->index, d->measure_ms, &again, &err) < 0)
        return cli_fail("%s", err.text);
    show_measured("and back", &again);
    struct remedy_values change = changes(before, with), back = changes(with, &again);
    char words[EFFECT_WORDS];
    int64_t there, home;
    int load = MAX_OF(load_changed(before, with), load_changed(with, &again));
    if (load) {
        printf("Can't tell: the load changed by %d%%.\n", load);
        return EXIT_FAILED;
    }
    if (!has_moved(before, &change)) {
        puts("No effect: nothing moved by more than the noise.");
        return EXIT_FAILED;
    }
    if (reading_get(change.power_mw, &there) && reading_get(back.power_mw, &home) && llabs(there + home) * 2 > llabs(there)) {
        puts("Can't tell: going back did not undo it, so something else changed as well.");
        return EXIT_FAILED;
    }
    keep_effect(d, before, with);
    printf("It makes %s. To keep it: whirr do %s\n", effect_words(&change, &before->values, words), d->cli->options->arguments[0]);
    return EXIT_FINE;
}

static int make(struct remedy_doing *d, const struct change_list *l, bool trying)
{
    struct measured before, after;
    struct lease lease = {0};
    struct error err = {0};
    char words[WORDS_SIZE + 4], until[MOMENT_TEXT_SIZE];
    const struct sigaction stop = {.sa_handler = interrupt};
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
    if (measure(d->session, d->gpu->index, MAX_OF(d->measure_ms / BEFORE_PART, (int64_t)300), &before, &err) < 0)
        return interrupted ? 128 + interrupted : cli_fail("%s", err.text);
    show_measured("now", &before);
    if (trying)
        d->until.ms = clock_wall(d->cli->env.clock).ms + d->measure_ms + MEASURE_MS; /* should this process be killed */
    if (act_begin(d->cli, l, &d->until, &lease, &err) < 0)
        return cli_fail("%s", err.text);
    int rc = measure(d->session, d->gpu->index, d->measure_ms, &after, &err);
    if (rc < 0) {
        int status = act_end(d->cli, &lease);
        return interrupted ? 128 + interrupted : status != EXIT_FINE ? status : cli_fail("%s", err.text);
    }
    show_measured(in_words(d->measure_ms, words), &after);
    if (trying)
        return finish_try(d, &before, &after, &lease);
    if (!judge_step(d, &before, &after)) {
        int status = act_end(d->cli, &lease);
        return status == EXIT_FINE ? EXIT_FAILED : status;
    }
    if (d->until.ms) {
        moment_format(d->until, clock_wall(d->cli->env.clock), until);
        printf("Kept until %s. whirr undo takes it back.\n", until);
    } else
        puts("Kept until whirr undo takes it back: only whirr-control could end it at a time.");
    return EXIT_FINE;
}

static int do_it(struct remedy_doing *d, bool trying)
{
    AUTO_CHANGES struct change_list changed = {0};
    struct error err = {0};
    const struct options *o = d->cli->options;
    if (remedy_row(d->remedy->code)->kind != REMEDY_SETTING) {
        printf("%s\n", d->sentence);
        return cli_fail("that is for a person; whirr can't do it");
    }
    if (act_plan(d->cli, d->now, d->gpu, d->remedy->code, &changed, &err) < 0)
        return cli_fail("%s", err.text);
    say_plan(d, &changed, trying);
    if (options_has(o, "dry-run")) {
        puts("Nothing was changed (dry run).");
        return EXIT_FINE;
    }
    if (act_is_denied(d->cli, &changed))
        return cli_fail(CHANGE_NEEDS_ROOT "\nFor someone who may: sudo %s",
                        d->remedy->command[0] ? d->remedy->command : "whirr do");
    if (!options_has(o, "yes") && !isatty(STDIN_FILENO))
        return cli_usage(d->cli, "nobody can be asked here: add --yes to do it, or --dry-run to see it");
    if (!agreed(d, trying ? "Try it?" : "Do it?")) {
        puts("Nothing was changed.");
        return EXIT_FAILED;
    }
    return make(d, &changed, trying);
}

static int remedy_run(struct cli *cli, bool trying)
{
    static struct shown_answer shown; /* its source is used until the end */
    struct remedy_doing d = {.cli = cli};
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
        status = do_it(&d, trying);
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

#define OPTION_YES                                        \
    {                                                     \
        .name = "yes", .letter = 'y', .help = "Don't ask" \
    }
#define OPTION_MEASURE                                                                                 \
    {                                                                                                  \
        .name = "measure", .argument = "DURATION", .help = "Measure for this long (default: 1 minute)" \
    }
#define OPTION_DRY_RUN                                                          \
    {                                                                           \
        .name = "dry-run", .help = "Show what would be changed; change nothing" \
    }
static const struct option_spec do_options[] = {
    OPTION_YES,
    OPTION_DRY_RUN,
    OPTION_MEASURE,
    {.name = "for", .argument = "DURATION", .help = "Keep it for this long (default: 2h)"},
    {.name = "until", .argument = "TIME", .help = "Keep it until this time, like 08:00"},
    {.name = "keep-if", .argument = "CONDITION", .help = "Take it back unless this holds then: 'fan < 70%'"},
};
static const struct option_spec try_options[] = {OPTION_YES, OPTION_DRY_RUN, OPTION_MEASURE};

#define DO_EXITS                                                                                                               \
    "0 done and kept; 1 it failed, was refused, had no effect or no clear one, and the old values are back; 2 wrong usage or " \
    "configuration."

const struct command command_do = {
    .name = "do",
    .group = HELP_ACT,
    .summary = "Run a remedy that `whirr why` advises, and measure it",
    .details =
        "N is the number of a remedy in the newest answer of `whirr why` that you were shown. It looks again first, says what it "
        "would change and for whom, and asks. It measures before and after; what has no effect is taken back. What was measured is "
        "what is expected the next time. Remedies that are not settings of a GPU are for a person.",
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
