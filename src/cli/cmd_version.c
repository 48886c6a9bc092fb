/* SPDX-License-Identifier: Apache-2.0
 * whirr version: the version, and what this build can do on this host.
 */
#include "answer/answer.h"
#include "base/cleanup.h"
#include "base/os/library.h"
#include "cli/cli_show.h"
#include "serve/api/assets.h"
#include "source/source.h"

/* A feature is built in (an asset), or needs a library that is loaded on first use. */
static const struct feature {
    const char *name;
    const char *asset;
    const char *libraries[2];
} features[] = {
    {"dashboard", .asset = "/web/app.js"},
    {"api_page", .asset = "/docs/index.html"},
    {"https", .libraries = {"libcurl.so.4", "libcurl-gnutls.so.4"}},
    {"tls", .libraries = {"libssl.so.3", "libssl.so.1.1"}},
    {"gzip", .libraries = {"libz.so.1"}},
    {"postgresql", .libraries = {"libpq.so.5"}},
    {"gamemode", .libraries = {"libsystemd.so.0"}},
};

static bool can_load(const struct env *env, const char *library)
{
    return library && env->load_library(env, library, NULL);
}

static bool version_is_there(const struct env *env, const struct feature *f)
{
    return f->asset ? asset_find(f->asset) != NULL : can_load(env, f->libraries[0]) || can_load(env, f->libraries[1]);
}

struct told_version {
    const char *name, *version, *commit;
    bool features[ARRAY_LEN(features)];
};

ANSWER_TABLE(features_answer, struct told_version)
{
    for (size_t i = 0; i < ARRAY_LEN(features); i++)
        FIELD(BOOL, features[i].name, features[i], NULL);
}

static const void *next_source(const struct answer_at *at, struct answer_step *step)
{
    (void)at;
    return step->at < source_registry_count ? &source_registry[step->at++]->name : NULL;
}

ANSWER_TABLE(version_answer, struct told_version)
{
    FIELD(WORD, "name", name, NULL);
    FIELD(WORD, "version", version, NULL);
    FIELD(WORD, "commit", commit, NULL);
    PART("features", features_answer, NULL);
    EACH(WORD, "sources", next_source, NULL);
}

static int as_json(const struct cli *cli)
{
    struct told_version told = {.name = "whirr", .version = WHIRR_VERSION, .commit = version_commit};
    for (size_t i = 0; i < ARRAY_LEN(features); i++)
        told.features[i] = version_is_there(&cli->env, &features[i]);
    return show_answer(cli, &version_answer, &told);
}

static void as_text(const struct env *env, struct buf *out)
{
    buf_printf(out, "whirr %s (commit %s)\nFeatures: sqlite", WHIRR_VERSION, version_commit);
    for (size_t i = 0; i < ARRAY_LEN(features); i++)
        if (version_is_there(env, &features[i]))
            buf_printf(out, ", %s", features[i].name);
    const char *before = "\nMissing:  ";
    for (size_t i = 0; i < ARRAY_LEN(features); i++) {
        if (version_is_there(env, &features[i]))
            continue;
        buf_printf(out, "%s%s (%s)", before, features[i].name,
                   features[i].asset ? "not in this build" : library_name(features[i].libraries[0]));
        before = ", ";
    }
    for (size_t i = 0; i < source_registry_count; i++)
        buf_printf(out, "%s%s", i ? ", " : "\nSources:  ", source_registry[i]->name);
    buf_char(out, '\n');
}

static int version_run(struct cli *cli)
{
    AUTO_BUF struct buf out = BUF(4096);
    if (cli->json)
        return as_json(cli);
    as_text(&cli->env, &out);
    return show_text(&out);
}

const struct command command_version = {
    .alone = true,
    .name = "version",
    .group = HELP_SETUP,
    .summary = "Show the version, its commit, and what this build can do here",
    .lacks = "gpu",
    .run = version_run,
};
