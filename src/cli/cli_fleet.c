/* SPDX-License-Identifier: Apache-2.0
 * Queries the database, and shows the answer in the format of the command.
 */
#include "cli/cli_fleet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ask/progress.h"
#include "base/words.h"
#include "cli/cli_show.h"
#include "config/config.h"
#include "fleet/fleet.h"

enum { FLEET_TIMEOUT_MS = 60000 };

const char *const fleet_keys[] = {"user", "container", "pod", "job", "host", NULL};

static enum fleet_what asked;
static struct fleet_view view;
static struct fleet_bill bill;

static bool write_table(struct cli *cli, const struct fleet *f, struct buf *out)
{
    switch (asked) {
    case FLEET_STATUS: fleet_table_status(out, &cli->page, f, &view); break;
    case FLEET_PS: fleet_table_ps(out, &cli->page, f, &view); break;
    case FLEET_WHY: fleet_table_why(out, &cli->page, f, &view); break;
    case FLEET_JOB: return fleet_table_job(out, &cli->page, f, &view);
    case FLEET_FIT: return fleet_table_fit(out, &cli->page, f, &view);
    case FLEET_REPORT: break;
    }
    return true;
}

static bool write_json(struct cli *cli, const struct fleet *f, struct buf *out)
{
    struct json_writer j = show_json(cli, out, false);
    bool found = true;
    switch (asked) {
    case FLEET_STATUS: fleet_json_status(&j, f); break;
    case FLEET_PS: fleet_json_ps(&j, f, &view); break;
    case FLEET_WHY: fleet_json_why(&j, f); break;
    case FLEET_JOB: found = fleet_json_job(&j, f, &view); break;
    case FLEET_FIT: found = fleet_json_fit(&j, f, &view); break;
    case FLEET_REPORT: break;
    }
    return found;
}

static int render_bill(struct cli *cli, struct buf *out, struct error *err)
{
    if (cli->json)
        fleet_json_bill(AS_JSON(cli, out), &bill);
    else
        fleet_table_bill(out, &cli->page, &bill, view.all);
    fleet_bill_done(&bill);
    return out->failed ? error_set(err, -ENOMEM, "out of memory") : 0;
}

/* JSON contains everything about a GPU. */
static unsigned wants(const struct cli *cli)
{
    if (asked == FLEET_PS)
        return FLEET_WANT_PROCESSES;
    if (asked == FLEET_JOB)
        return FLEET_WANT_PROCESSES | FLEET_WANT_LIMITS;
    return cli->json ? FLEET_WANT_GPUS : asked == FLEET_FIT ? FLEET_WANT_ROOM : FLEET_WANT_HOSTS;
}

static int fleet_render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    (void)session;
    struct fleet f;
    struct progress *shown = options_has(cli->options, "watch") ? NULL : progress_begin("asking the fleet's database");
    const struct fleet_place place = fleet_place(cli);
    int rc = asked == FLEET_REPORT ? fleet_bill_fetch(&place, &bill, err) : fleet_fetch(&place, wants(cli), &f, err);
    progress_end(shown);
    if (rc == 0 && asked == FLEET_REPORT)
        return render_bill(cli, out, err);
    if (rc < 0)
        return rc;
    if (!(cli->json ? write_json(cli, &f, out) : write_table(cli, &f, out)))
        cli->status = EXIT_FAILED;
    fleet_done(&f);
    return out->failed ? error_set(err, -ENOMEM, "out of memory") : 0;
}

enum fleet_by fleet_by(const char *key)
{
    for (size_t i = 0; fleet_keys[i]; i++)
        if (strcmp(fleet_keys[i], key) == 0)
            return (enum fleet_by)(i + 1);
    return FLEET_BY_NONE;
}

/* Accepts "-7d" or "7d": a span that ends now. */
static int read_bill(struct cli *cli)
{
    const struct options *o = cli->options;
    struct str since = str_from(options_value(o, "since", "-7d"));
    const char *by = options_value(o, "by", "");
    bill = (struct fleet_bill){.by = fleet_by(by),
                               .price_per_kwh = cli->settings->energy.price_per_kwh,
                               .currency = options_value(o, "currency", cli->settings->energy.currency)};
    if (since.len && since.at[0] == '-')
        since = (struct str){since.at + 1, since.len - 1};
    if (!duration_parse(since, &bill.span_ms) || bill.span_ms < MS_PER_S || options_has(o, "until"))
        return cli_usage(cli, "with --fleet, --since is a span up to now, like -7d");
    if (by[0] && !bill.by)
        return cli_usage(cli, "invalid value '%s' for --by; with --fleet, expected user, container, pod, job or host", by);
    const char *price = options_value(o, "price", NULL);
    static char currency[CURRENCY_SIZE];
    if (price && !price_parse(str_from(price), &bill.price_per_kwh, currency))
        return cli_usage(cli, "invalid value '%s' for --price; expected a price like 0.30 or 0.30EUR", price);
    if (price && currency[0] && !options_has(o, "currency"))
        bill.currency = currency;
    return EXIT_FINE;
}

/* "fleet.url" stands for the setting, which keeps a password out of the command line. */
const char *fleet_url(const struct cli *cli)
{
    const char *given = options_value(cli->options, "fleet", "fleet.url");
    return strcmp(given, "fleet.url") == 0 && cli->settings ? cli->settings->fleet.url : given;
}

struct fleet_place fleet_place(const struct cli *cli)
{
    return (struct fleet_place){.env = &cli->env,
                                .url = fleet_url(cli),
                                .timeout_ms = FLEET_TIMEOUT_MS,
                                .settings = cli->settings ? &cli->settings->fleet : NULL};
}

int fleet_check_url(struct cli *cli)
{
    const struct options *o = cli->options;
    struct str url = str_from(fleet_url(cli));
    if (url.len == 0)
        return cli_usage(cli, "no database of the fleet is configured (fleet.url)");
    const char *about_one = cli->host || cli->host_count ? "host"
                            : options_has(o, "source")   ? "source"
                            : options_has(o, "gpu")      ? "gpu"
                                                         : NULL;
    if (about_one)
        return cli_usage(cli, "--fleet shows all hosts of a database: it can't be combined with --%s", about_one);
    if (!str_starts(url, "http://") && !str_starts(url, "https://") && !str_starts(url, "postgresql://") &&
        !str_starts(url, "postgres://"))
        return cli_usage(cli, "--fleet needs the URL of Prometheus, VictoriaMetrics or PostgreSQL, like http://prometheus:9090");
    return EXIT_FINE;
}

int fleet_run(struct cli *cli, enum fleet_what what)
{
    const struct options *o = cli->options;
    int usable = fleet_check_url(cli);
    if (usable != EXIT_FINE)
        return usable;
    asked = what;
    view = (struct fleet_view){.all = options_has(o, "all")};
    if (what == FLEET_PS) {
        view.user = options_value(o, "user", NULL);
        view.by = fleet_by(options_value(o, "by", ""));
    }
    if (what == FLEET_JOB)
        view.job = options_value(o, "job", "");
    if (what == FLEET_REPORT) {
        int status = read_bill(cli);
        if (status != EXIT_FINE)
            return status;
    }
    return show_without_session(cli, fleet_render);
}

int fleet_fit(struct cli *cli, int64_t bytes, const char *notes)
{
    int usable = fleet_check_url(cli);
    if (usable != EXIT_FINE)
        return usable;
    asked = FLEET_FIT;
    view = (struct fleet_view){.all = options_has(cli->options, "all"), .size_bytes = bytes};
    if (notes[0])
        fprintf(stderr, "whirr: %s\n", notes);
    return show_without_session(cli, fleet_render);
}
