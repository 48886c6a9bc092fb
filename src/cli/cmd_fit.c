/* SPDX-License-Identifier: Apache-2.0
 * whirr fit: does it fit, and where?
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ask/ask_fit.h"
#include "base/cleanup.h"
#include "base/os/place.h"
#include "base/words.h"
#include "cli/cli_fleet.h"
#include "cli/cli_show.h"
#include "format/capacity_forms.h"
#include "format/json/json.h"

enum { FRESH_MS = 500 }; /* memory that was free some seconds ago is no answer */

/* The state of one query. */
struct fit {
    const char *what; /* NULL: show only the capacity */
    struct placement_request request;
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
    const char *text = options_value(cli->options, name, NULL);
    struct str s = str_from(text ? text : "");
    bool thousands = s.len > 1 && (s.at[s.len - 1] | 0x20) == 'k'; /* "8k" tokens are 8192 */
    s.len -= thousands;
    if (!text || (str_to_i64(s, ret) && *ret <= most && (*ret *= thousands ? 1024 : 1) >= least && *ret <= most))
        return EXIT_FINE;
    return cli_usage(cli, "--%s must be a whole number from %lld to %lld, not '%s'", name, (long long)least, (long long)most, text);
}

static int read_options(struct cli *cli)
{
    const struct options *o = cli->options;
    int64_t gpus = 0, count = 1, context = -1;
    int status = number_option(cli, "gpus", 1, PLACEMENT_GPUS_MAX, &gpus);
    if (!status)
        status = number_option(cli, "count", 1, PLACEMENT_COPIES_MAX, &count);
    if (!status)
        status = number_option(cli, "context", 0, MODEL_CONTEXT_MAX, &context);
    const char *overhead = options_value(o, "overhead", NULL);
    fit.model_options = (struct model_options){
        .context = context, .cache_type = options_value(o, "kv-type", "f16"), .overhead_bytes = MODEL_OVERHEAD_DEFAULT};
    if (!status && overhead && strcmp(overhead, "0") == 0)
        fit.model_options.overhead_bytes = 0;
    else if (!status && overhead)
        status = cli_size(cli, "overhead", overhead, &fit.model_options.overhead_bytes);
    fit.request = (struct placement_request){.gpus = (int)gpus,
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
    return path_last_slash(text) || str_ends(s, ".gguf") || str_ends(s, ".safetensors") || access(text, F_OK) == 0;
}

static int read_subject(struct cli *cli)
{
    struct error err = {0};
    fit.what = cli->options->argument_count ? cli->options->arguments[0] : NULL;
    if (!fit.what)
        return EXIT_FINE;
    fit.facts = calloc(1, sizeof *fit.facts);
    fit.need = calloc(1, sizeof *fit.need);
    if (!fit.facts || !fit.need)
        return cli_fail("out of memory");
    fit.is_model = looks_like_a_path(fit.what) || model_assume(str_from(fit.what), fit.facts);
    if (!fit.is_model) {
        fit.request.whole = fit.request.gpus == 0 && !options_has(cli->options, "split");
        return cli_size(cli, NULL, fit.what, &fit.request.bytes);
    }
    if (!fit.facts->assumed[0] && model_files_read(fit.what, fit.facts, &err) < 0)
        return cli_fail("%s", err.text);
    model_need(fit.facts, &fit.model_options, fit.need);
    fit.request.bytes = fit.need->bytes;
    fit.request.fixed_bytes = fit.need->fixed_bytes;
    fit.request.layers = fit.need->layers;
    fit.request.layer_count = fit.need->layer_count;
    return EXIT_FINE;
}

/* ---- the answer ---- */

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

static int fit_render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    int only;
    session_set_max_age(session, FRESH_MS);
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_ALL, err);
    if (!s || session_only(session, s, &only, err) < 0)
        return err->code;
    fit.request.only = only >= 0 ? s->gpus[only].index : -1;
    AUTO_FREE struct capacity *c = fit_capacity(cli, session, s, fit.reserve_bytes);
    if (!c)
        return error_set(err, -ENOMEM, "out of memory");
    struct json_writer j = show_json(cli, out, false);
    if (!fit.what) {
        if (only >= 0)
            keep_only(c, fit.request.only);
        if (cli->json)
            json_capacity(&j, s, c, NULL, ALL_GPUS);
        else
            table_capacity(out, &cli->page, c);
    } else {
        AUTO_FREE struct placement *p = placement_find(c, &fit.request);
        if (!p)
            return error_set(err, -errno, errno == ENOMEM ? "out of memory" : "that size can't be placed");
        if (fit.is_model)
            fit_doubt(fit.need, p);
        cli->status = p->verdict == PLACEMENT_FITS ? EXIT_FINE : EXIT_FAILED;
        const struct fit_subject subject = {.path = fit.is_model ? fit.what : NULL,
                                            .facts = fit.facts,
                                            .need = fit.need,
                                            .cache_type = fit.model_options.cache_type,
                                            .context_wanted = fit.model_options.context};
        if (options_has(cli->options, "env"))
            return write_env(cli, c, p, out, err);
        if (cli->json)
            json_placement(&j, c, &fit.request, p, &subject);
        else
            table_placement(out, &cli->page, c, &fit.request, p, &subject);
        if (!cli->json && p->could_split) {
            char hint[256];
            snprintf(hint, sizeof hint, "For a program that splits its memory: whirr fit %s --split even", fit.what);
            page_wrap(out, &cli->page, INK_PLAIN, hint, 2, 0);
        }
        if (!cli->json && !fit.is_model && fit.model_options.context > 0)
            page_wrap(out, &cli->page, INK_WARN, "Note: a size says nothing about the context; name the model's file for that.", 2,
                      0);
    }
    return 0;
}

static int fit_run(struct cli *cli)
{
    fit = (struct fit){.reserve_bytes = cli->settings->worker.reserve_bytes};
    int status = read_options(cli);
    if (!status)
        status = read_subject(cli);
    if (!status && options_has(cli->options, "fleet"))
        status = fit.what ? fleet_fit(cli, fit.request.bytes + fit.request.fixed_bytes, fit.need->notes)
                          : cli_usage(cli, "fit --fleet needs a size, like 60GiB");
    else if (!status)
        status = show(cli, fit_render);
    free(fit.facts);
    free(fit.need);
    return status;
}

static const char *const splits[] = {"layer", "even", NULL};

static const struct option_spec options[] = {
    {.name = "gpus", .argument = "N", .help = "Use exactly N GPUs (default: as few as possible)"},
    {.name = "count", .argument = "K", .help = "Fit K copies at the same time"},
    {.name = "context",
     .argument = "TOKENS",
     .help = "Context length, like 8192 or 8k (default: 4096, or the model's own if shorter)"},
    {.name = "kv-type", .argument = "TYPE", .values = model_cache_types, .help = "Type of the cache values (default: f16)"},
    {.name = "overhead", .argument = "SIZE", .help = "What the driver needs per program and GPU (default: 640MiB)"},
    {.name = "split",
     .argument = "HOW",
     .values = splits,
     .help = "Spread over several GPUs: layer (by layers and free memory) or even (in equal shares)"},
    {.name = "now", .help = "Use only memory that is free now; evict nothing"},
    {.name = "fleet", .argument = "URL", .help = "Find a place on all hosts of this Prometheus, VictoriaMetrics or PostgreSQL"},
    {FLEET_OPTION_ALL},
    {.name = "env", .help = "Print only CUDA_VISIBLE_DEVICES=... (or HIP_VISIBLE_DEVICES, ZE_AFFINITY_MASK)"},
};

const struct command command_fit = {
    .exits = "0 it fits, even if workers must be evicted first (not with --now); 1 it doesn't fit, or there is no way to know; 2 "
             "wrong usage or configuration.",
    .name = "fit",
    .group = HELP_EXPLAIN,
    .summary = "Check where a model or an amount of memory fits",
    .details = "SIZE is an amount of memory with its unit, like 24GiB, and stays on one GPU unless --split or --gpus is given; "
               "70B stands for a model with so many parameters, in 4 bits; FILE is a GGUF model (any of its parts) or a "
               "safetensors file; DIRECTORY holds safetensors files and their "
               "config.json. Only headers are read. The memory available on a GPU is what the driver reports as free, minus "
               "worker.reserve; what guarded workers hold counts as a second choice. The estimate for models is weights, cache for "
               "the context, buffers and overhead (docs/capacity.md). Memory that is unknown never counts as available.",
    .arguments = "[SIZE|70B|FILE|DIRECTORY]",
    .offers = {{.complete = COMPLETE_FILE}},
    .arguments_min = 0,
    .arguments_max = 1,
    OPTIONS(options),
    .examples = {{"whirr fit 24GiB", "which GPU has 24 GiB? whirr fit 70B: a model of that size"},
                 {"whirr fit llama-70b.Q4_K_M.gguf --context 32768 --kv-type q8_0", "does this model fit, with that context?"},
                 {"env $(whirr fit model.gguf --env) llama-server -m model.gguf", "start it on the GPUs where it fits"}},
    .remote = true,
    .run = fit_run,
};
