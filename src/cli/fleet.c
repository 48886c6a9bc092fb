/* SPDX-License-Identifier: Apache-2.0
 * Asks the database, and shows the answer in the form of the command.
 */
#include "cli/fleet.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "cli/show.h"
#include "fleet/fleet.h"

enum { FLEET_TIMEOUT_MS = 30000 };

const char *const fleet_keys[] = {"user", "container", "host", NULL};

static enum fleet_what asked;
static struct fleet_view view;

static bool write_table(struct cli *cli, const struct fleet *f, struct buf *out)
{
    switch (asked) {
    case FLEET_STATUS: fleet_table_status(out, &cli->page, f, &view); break;
    case FLEET_PS: fleet_table_ps(out, &cli->page, f, &view); break;
    case FLEET_WHY: fleet_table_why(out, &cli->page, f, &view); break;
    case FLEET_FIT: return fleet_table_fit(out, &cli->page, f, &view);
    }
    return true;
}

static bool write_json(struct cli *cli, const struct fleet *f, struct buf *out)
{
    struct json_writer j = show_json(cli, out);
    bool fits = true;
    switch (asked) {
    case FLEET_STATUS: fleet_json_status(&j, f); break;
    case FLEET_PS: fleet_json_ps(&j, f, &view); break;
    case FLEET_WHY: fleet_json_why(&j, f); break;
    case FLEET_FIT: fits = fleet_json_fit(&j, f, &view); break;
    }
    buf_char(out, '\n');
    return fits;
}

static int render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    (void)session;
    struct fleet f;
    const struct fleet_place place = {
        .env = &cli->env, .url = options_value(&cli->options, "fleet", ""), .timeout_ms = FLEET_TIMEOUT_MS};
    int rc = fleet_fetch(&place, asked == FLEET_PS, &f, err);
    if (rc < 0)
        return rc;
    if (!(cli->json ? write_json(cli, &f, out) : write_table(cli, &f, out)))
        cli->status = EXIT_FAILED;
    fleet_done(&f);
    return out->failed ? error_set(err, -ENOMEM, "out of memory") : 0;
}

static enum fleet_by fleet_by(const char *key)
{
    for (size_t i = 0; fleet_keys[i]; i++)
        if (strcmp(fleet_keys[i], key) == 0)
            return (enum fleet_by)(i + 1);
    return FLEET_BY_NONE;
}

int fleet_run(struct cli *cli, enum fleet_what what)
{
    const struct options *o = &cli->options;
    struct str url = str_from(options_value(o, "fleet", ""));
    if (!str_starts(url, "http://") && !str_starts(url, "https://"))
        return cli_usage(cli, "--fleet needs the URL of Prometheus or VictoriaMetrics, like http://prometheus:9090");
    asked = what;
    view = (struct fleet_view){.all = options_has(o, "all")};
    if (what == FLEET_PS) {
        view.user = options_value(o, "user", NULL);
        view.by = fleet_by(options_value(o, "by", ""));
    }
    if (what == FLEET_FIT &&
        (!o->argument_count || !bytes_parse(str_from(o->arguments[0]), &view.size_bytes) || view.size_bytes < 4096))
        return cli_usage(cli, "fit --fleet needs a size, like 60GiB");
    return show_without_session(cli, render);
}
