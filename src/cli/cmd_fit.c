/* SPDX-License-Identifier: Apache-2.0
 * whirr fit: does it fit, and where?
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask/answers.h"
#include "ask/settings.h"
#include "base/cleanup.h"
#include "base/words.h"
#include "cli/model_files.h"
#include "cli/show.h"
#include "format/json/capacity.h"
#include "format/json/json.h"

enum { FRESH_MS = 500 }; /* an answer about memory that was free some seconds ago helps nobody */

/* Everything that one answer needs. */
struct fit {
    const char *what; /* NULL: only the capacity is asked for */
    struct placement_wish wish;
    struct model_options model_options;
    bool is_model;
    struct model_facts *facts;
    struct model_need *need;
    int64_t reserve_bytes;
};

static struct fit fit;

/* ---- options ---- */

static int number_option(struct cli *cli, const char *name, int64_t least, int64_t most, int64_t *ret)
{
    const char *text = options_value(&cli->options, name, NULL);
    if (!text || (str_to_i64(str_from(text), ret) && *ret >= least && *ret <= most))
        return EXIT_FINE;
    return cli_usage(cli, "--%s must be a whole number from %lld to %lld, not '%s'", name, (long long)least, (long long)most, text);
}

/* "24": nobody means bytes. A large number is one of bytes, as programs write them. */
static bool is_bare_number(const char *text)
{
    double number;
    return str_to_double(str_trim(str_from(text)), &number) && number != 0 && number < 1 << 20;
}

static int bare_number(struct cli *cli, const char *text)
{
    return cli_usage(cli, "the size '%s' has no unit; write %sGiB, %sMiB or %sB", text, text, text, text);
}

static int read_options(struct cli *cli)
{
    const struct options *o = &cli->options;
    int64_t gpus = 0, count = 1, context = -1;
    int status = number_option(cli, "gpus", 1, PLACEMENT_GPUS_MAX, &gpus);
    if (!status)
        status = number_option(cli, "count", 1, PLACEMENT_COPIES_MAX, &count);
    if (!status)
        status = number_option(cli, "context", 0, MODEL_CONTEXT_MAX, &context);
    const char *overhead = options_value(o, "overhead", NULL);
    fit.model_options = (struct model_options){
        .context = context, .cache_type = options_value(o, "kv-type", "f16"), .overhead_bytes = MODEL_OVERHEAD_DEFAULT};
    if (!status && overhead && is_bare_number(overhead))
        status = bare_number(cli, overhead);
    if (!status && overhead && !bytes_parse(str_from(overhead), &fit.model_options.overhead_bytes))
        status = cli_usage(cli, "--overhead must be " BYTES_SYNTAX ", not '%s'", overhead);
    fit.wish = (struct placement_wish){.gpus = (int)gpus,
                                       .count = (int)count,
                                       .even = strcmp(options_value(o, "split", "layer"), "even") == 0,
                                       .no_eviction = options_has(o, "now"),
                                       .only = -1};
    if (!status && options_has(o, "env") && cli->json)
        status = cli_usage(cli, "--env and --json can't be combined");
    return status;
}

/* ---- the subject ---- */

static bool looks_like_a_path(const char *text)
{
    struct str s = str_from(text);
    return strchr(text, '/') || str_ends(s, ".gguf") || str_ends(s, ".safetensors") || access(text, F_OK) == 0;
}

static int read_model(struct cli *cli)
{
    struct error err = {0};
    if (!looks_like_a_path(fit.what))
        return cli_usage(cli, "'%s' is neither a file nor " BYTES_SYNTAX, fit.what);
    fit.facts = calloc(1, sizeof *fit.facts);
    fit.need = calloc(1, sizeof *fit.need);
    if (!fit.facts || !fit.need)
        return cli_fail("out of memory");
    if (model_files_read(fit.what, fit.facts, &err) < 0)
        return cli_fail("%s", err.text);
    if (fit.facts->tensor_count == 0)
        return cli_fail("'%s' has no tensors", fit.what);
    model_need(fit.facts, &fit.model_options, fit.need);
    fit.is_model = true;
    fit.wish.bytes = fit.need->bytes;
    fit.wish.fixed_bytes = fit.need->fixed_bytes;
    fit.wish.layers = fit.need->layers;
    fit.wish.layer_count = fit.need->layer_count;
    return EXIT_FINE;
}

static int read_subject(struct cli *cli)
{
    fit.what = cli->options.argument_count ? cli->options.arguments[0] : NULL;
    if (!fit.what)
        return EXIT_FINE;
    if (is_bare_number(fit.what) && access(fit.what, F_OK) != 0)
        return bare_number(cli, fit.what);
    if (!bytes_parse(str_from(fit.what), &fit.wish.bytes))
        return read_model(cli);
    fit.wish.whole = fit.wish.gpus == 0 && !options_has(&cli->options, "split");
    return fit.wish.bytes > 0 ? EXIT_FINE : cli_usage(cli, "a size must be above 0, not '%s'", fit.what);
}

/* ---- the answer ---- */

static void add_hold(struct capacity_hold *holds, size_t *count, const struct capacity_hold *one)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(holds[i].worker, one->worker) == 0 && holds[i].gpu_index == one->gpu_index)
            return;
    if (*count < CAPACITY_HOLDS_MAX)
        holds[(*count)++] = *one;
}

/* Guards in the foreground tell what a worker holds on all of its GPUs together: known is only who has one. */
static void ask_guards(struct cli *cli, struct capacity_hold *holds, size_t *count, bool *known)
{
    char problem[256];
    size_t asked = 0;
    if (options_has(&cli->options, "source") || env_is_recorded(&cli->env))
        return; /* another machine's GPUs */
    json_t *workers = guard_ask(cli, "GET", "/api/guard", NULL, &asked, problem, sizeof problem);
    *known = *known || asked > 0;
    for (size_t i = 0; i < json_array_size(workers); i++) {
        const json_t *w = json_array_get(workers, i), *gpus = json_object_get(w, "gpus");
        const char *name = json_string_value(json_object_get(w, "name")), *state = json_string_value(json_object_get(w, "state"));
        double mib = json_number_value(json_object_get(w, "memory_mb"));
        if (!name || !state || strcmp(state, "running") != 0 || json_array_size(gpus) != 1 || mib <= 0 || mib > 1e9)
            continue;
        struct capacity_hold hold = {.gpu_index = (int)json_integer_value(json_array_get(gpus, 0)),
                                     .bytes = (int64_t)(mib * (1 << 20)),
                                     .evictable = !json_is_true(json_object_get(w, "gave_up")) &&
                                                  !json_is_true(json_object_get(w, "dry_run"))};
        str_copy(hold.worker, sizeof hold.worker, str_from(name));
        add_hold(holds, count, &hold);
    }
    json_decref(workers);
}

/* What was free before is the daemon's to know. */
static void take_past(struct capacity *c, const struct capacity *past)
{
    for (size_t i = 0; i < c->gpu_count; i++)
        for (size_t k = 0; past && k < past->gpu_count; k++) {
            if (c->gpus[i].index != past->gpus[k].index || c->gpus[i].instance != past->gpus[k].instance)
                continue;
            c->gpus[i].least_hour_bytes = past->gpus[k].least_hour_bytes;
            c->gpus[i].least_day_bytes = past->gpus[k].least_day_bytes;
            c->gpus[i].watched_ms = past->gpus[k].watched_ms;
        }
}

/* Memory from a sample of this moment; reserve, workers and the past from the daemon, where one runs. */
static struct capacity *find_capacity(struct cli *cli, struct session *session, const struct snapshot *s)
{
    AUTO_BUF struct buf answer = BUF(8 << 20);
    AUTO_FREE struct capacity *told = NULL;
    AUTO_FREE struct capacity_hold *holds = calloc(CAPACITY_HOLDS_MAX, sizeof *holds);
    struct capacity_settings settings = {.reserve_bytes = fit.reserve_bytes};
    size_t count = 0;
    if (!holds)
        return NULL;
    if (session_get(session, "/api/capacity", &answer) == 200)
        told = capacity_from_json(buf_view(&answer));
    bool known = told && told->guard_known;
    if (told && told->gpu_count)
        settings.reserve_bytes = told->gpus[0].reserve_bytes;
    for (size_t i = 0; told && i < told->hold_count; i++)
        add_hold(holds, &count, &told->holds[i]);
    ask_guards(cli, holds, &count, &known);
    struct capacity *c = capacity_new(s, &settings, known ? holds : NULL, count);
    if (c)
        take_past(c, told);
    return c;
}

/* What the files do not say cannot be promised: then fitting weights are not a fitting model. */
static void doubt(struct placement *p)
{
    if (!fit.is_model || fit.need->complete || p->verdict != PLACEMENT_FITS)
        return;
    p->verdict = PLACEMENT_UNKNOWN;
    p->missing_bytes = -1;
    p->evicted_count = p->copy_count = 0;
    char reason[PLACEMENT_REASON_SIZE];
    snprintf(reason, sizeof reason, "the weights alone fit, but %s", fit.need->notes);
    str_copy(p->reason, sizeof p->reason, str_from(reason));
}

static int write_env(struct cli *cli, const struct capacity *c, const struct placement *p, struct buf *out, struct error *err)
{
    if (p->verdict != PLACEMENT_FITS) {
        cli_fail("%s: %s", p->verdict == PLACEMENT_UNKNOWN ? "unknown" : "it does not fit", p->reason);
        return 0;
    }
    for (size_t i = 0; i < p->evicted_count; i++)
        fprintf(stderr, "whirr: %s must be evicted first: whirr guard evict %s\n", p->evicted[i], p->evicted[i]);
    for (size_t k = 0; k < p->copy_count; k++)
        if (!placement_env(out, c, &p->copies[k]))
            return error_set(err, -ENOTSUP, "no environment variable selects this GPU");
    (void)cli;
    return 0;
}

static void keep_only(struct capacity *c, int index)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->gpu_count; i++)
        if (c->gpus[i].index == index)
            c->gpus[kept++] = c->gpus[i];
    c->gpu_count = kept;
}

static int render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    int only;
    session_set_max_age(session, FRESH_MS);
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_FAST | GROUP_SLOW, err);
    if (!s || session_only(session, s, &only, err) < 0)
        return err->code;
    fit.wish.only = only >= 0 ? s->gpus[only].index : -1;
    AUTO_FREE struct capacity *c = find_capacity(cli, session, s);
    if (!c)
        return error_set(err, -ENOMEM, "out of memory");
    struct json_writer j = show_json(cli, out);
    if (!fit.what) {
        if (only >= 0)
            keep_only(c, fit.wish.only);
        if (cli->json)
            json_capacity(&j, s, c, NULL);
        else
            table_capacity(out, &cli->page, c);
    } else {
        AUTO_FREE struct placement *p = placement_find(c, &fit.wish);
        if (!p)
            return error_set(err, -ERANGE, "such a size cannot be placed");
        doubt(p);
        cli->status = p->verdict == PLACEMENT_FITS ? EXIT_FINE : EXIT_FAILED;
        const struct fit_subject subject = {.path = fit.is_model ? fit.what : NULL,
                                            .facts = fit.facts,
                                            .need = fit.need,
                                            .cache_type = fit.model_options.cache_type,
                                            .context_wanted = fit.model_options.context};
        if (options_has(&cli->options, "env"))
            return write_env(cli, c, p, out, err);
        if (cli->json)
            json_placement(&j, c, &fit.wish, p, &subject);
        else
            table_placement(out, &cli->page, c, &fit.wish, p, &subject);
        if (!cli->json && p->could_split) {
            char hint[256];
            snprintf(hint, sizeof hint, "For a program that splits its memory: whirr fit %s --split even", fit.what);
            page_wrap(out, &cli->page, INK_PLAIN, hint, 2, 0);
        }
        if (!cli->json && !fit.is_model && fit.model_options.context > 0)
            page_wrap(out, &cli->page, INK_WARN, "Note: a size says nothing about the context; give the model's file for that.", 2,
                      0);
    }
    if (cli->json)
        buf_char(out, '\n');
    return 0;
}

static int run(struct cli *cli)
{
    fit = (struct fit){.reserve_bytes = cli->settings->worker.reserve_bytes};
    int status = read_options(cli);
    if (!status)
        status = read_subject(cli);
    if (!status)
        status = show(cli, render);
    free(fit.facts);
    free(fit.need);
    return status;
}

static const char *const splits[] = {"layer", "even", NULL};

static const struct option_spec options[] = {
    {.name = "gpus", .argument = "N", .help = "Use exactly N GPUs (default: as few as possible)"},
    {.name = "count", .argument = "K", .help = "Fit K copies at the same time"},
    {.name = "context", .argument = "TOKENS", .help = "Context length (default: 4096, or the model's own if shorter)"},
    {.name = "kv-type", .argument = "TYPE", .values = model_cache_types, .help = "Type of the cache values (default: f16)"},
    {.name = "overhead", .argument = "SIZE", .help = "What the driver needs per program and GPU (default: 640MiB)"},
    {.name = "split",
     .argument = "HOW",
     .values = splits,
     .help = "Spread over several GPUs: by layers and free memory, or in even shares"},
    {.name = "now", .help = "Use only memory that is free now; evict nothing"},
    {.name = "env", .help = "Print only CUDA_VISIBLE_DEVICES=... (or HIP_VISIBLE_DEVICES, ZE_AFFINITY_MASK)"},
};

static const struct example examples[] = {
    {"whirr fit 24GiB", "which GPU has 24 GiB?"},
    {"whirr fit llama-70b.Q4_K_M.gguf --context 32768 --kv-type q8_0", "does this model fit, with that context?"},
    {"env $(whirr fit model.gguf --env) llama-server -m model.gguf", "start it on the GPUs where it fits"},
};

const struct command command_fit = {
    .exits = "0 it fits, even if workers must be evicted first (not with --now); 1 it doesn't fit, or there is no way to know; 2 "
             "wrong usage or configuration.",
    .name = "fit",
    .group = HELP_EXPLAIN,
    .summary = "Check where a model or an amount of memory fits",
    .details = "SIZE is an amount of memory with its unit, like 24GiB, and stays on one GPU unless --split or --gpus is given; "
               "FILE is a GGUF model (any of its parts) or a safetensors file; DIRECTORY holds safetensors files and their "
               "config.json. Only headers are read. The memory available on a GPU is what the driver reports as free, minus "
               "worker.reserve; what guarded workers hold counts as a second choice. The estimate for models is weights, cache for "
               "the context, buffers and overhead (docs/capacity.md). Memory that is unknown never counts as available.",
    .arguments = "[SIZE|FILE|DIRECTORY]",
    .arguments_min = 0,
    .arguments_max = 1,
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .remote = true,
    .run = run,
};
