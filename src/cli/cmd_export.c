/* SPDX-License-Identifier: Apache-2.0
 * whirr export: one scrape to stdout or into a file, for the textfile collector and for scripts.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli_show.h"
#include "config/config.h"
#include "format/json/json.h"
#include "format/prometheus/prometheus.h"

enum { EXPORT_PATH_MAX = 4096 };

/* Writes a temporary file and renames it, so that readers see the old or the new one. Readable for collectors of other users. */
static int write_file(const char *path, struct str text, struct error *err)
{
    char fresh[EXPORT_PATH_MAX + 16];
    if (strlen(path) >= EXPORT_PATH_MAX)
        return error_set(err, -ENAMETOOLONG, "cannot write '%.64s...': %s", path, strerror(ENAMETOOLONG));
    snprintf(fresh, sizeof fresh, "%s.XXXXXX", path);
    AUTO_CLOSE int fd = mkostemp(fresh, O_CLOEXEC);
    if (fd < 0)
        return error_set(err, -errno, "cannot write '%s': %s", path, strerror(errno));
    int rc = fchmod(fd, 0644) < 0 ? -errno : 0;
    while (rc == 0 && text.len) {
        ssize_t sent = write(fd, text.at, text.len);
        if (sent < 0 && errno != EINTR)
            rc = -errno;
        else if (sent > 0)
            text = (struct str){text.at + sent, text.len - (size_t)sent};
    }
    if (rc == 0 && (fsync(fd) < 0 || rename(fresh, path) < 0))
        rc = -errno;
    if (rc < 0) {
        unlink(fresh);
        return error_set(err, rc, "cannot write '%s': %s", path, strerror(-rc));
    }
    return 0;
}

/* A daemon knows more (health, alerts, the guard), but exports only its own sets. */
static int from_daemon(struct session *session, struct buf *text, struct error *err)
{
    int status = session_get(session, "/metrics", text);
    if (status == -ENOTCONN)
        return status;
    if (status == 200)
        return 0;
    return error_set(err, -EIO, "the daemon did not answer with its metrics (%d)", status);
}

static int from_here(struct session *session, const struct prometheus_options *o, struct buf *text, struct error *err)
{
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_ALL, err);
    if (!s)
        return err->code;
    prometheus_write(text, s, &(struct prometheus_extra){.own_pid = getpid(), .options = o});
    prometheus_add_labels(text, s->host.name, o);
    return text->failed ? error_set(err, -ENOMEM, "out of memory") : 0;
}

static int export(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    struct prometheus_options o;
    AUTO_BUF struct buf text = BUF(PROMETHEUS_MAX);
    prometheus_options_init(&o, &cli->settings->metrics, &cli->env);
    for (size_t i = 0; i < cli->options->given_count; i++)
        if (strcmp(cli->options->given[i].spec->name, "set") == 0)
            o.sets |= prometheus_set_from_name(cli->options->given[i].value);
    int rc = options_has(cli->options, "set") ? -ENOTCONN : from_daemon(session, &text, err);
    if (rc == -ENOTCONN)
        rc = from_here(session, &o, &text, err);
    if (rc < 0)
        return rc;
    if (options_has(cli->options, "openmetrics"))
        openmetrics_from_prometheus(buf_view(&text), out);
    else
        buf_str(out, buf_view(&text));
    return out->failed ? error_set(err, -ENOMEM, "out of memory") : 0;
}

/* The configured hosts as targets for Prometheus, without those behind ssh, which have no port to scrape. */
static int targets(struct cli *cli, struct buf *out, struct error *err)
{
    const struct config *c = cli->settings;
    for (size_t i = 0; i < c->hosts_count; i++)
        if (str_starts(str_from(c->hosts[i].address), "ssh:"))
            fprintf(stderr, "whirr: hosts.%s is left out: Prometheus can't scrape through ssh\n", c->hosts[i].entry.name);
    struct json_writer j = JSON_WRITER(out);
    j.pretty = true;
    json_scrape_targets(&j, c);
    buf_char(out, '\n');
    return out->failed ? error_set(err, -ENOMEM, "out of memory") : 0;
}

static int export_run(struct cli *cli)
{
    struct error err = {0};
    const char *path = options_value(cli->options, "output", NULL);
    bool sd = options_has(cli->options, "targets");
    if (cli->json && !sd)
        return cli_usage(cli, "export has no JSON form; use `whirr status --json`");
    struct session *session = sd ? NULL : session_open(cli, &err);
    if (!session && !sd)
        return cli_error(cli, &err);
    AUTO_BUF struct buf out = BUF(PROMETHEUS_MAX);
    int rc = sd ? targets(cli, &out, &err) : export(cli, session, &out, &err);
    session_close(session);
    if (rc == 0 && path)
        rc = write_file(path, buf_view(&out), &err);
    if (rc < 0)
        return cli_fail("%s", err.text);
    return path ? EXIT_FINE : show_text(&out);
}

static const char *const sets[] = {"dcgm", "dcgm-4.8", "nvidia_smi", NULL};

static const struct option_spec options[] = {
    {OPTION_OUTPUT("Write to FILE, whole or not at all, instead of stdout")},
    {.name = "openmetrics", .help = "Print OpenMetrics instead of Prometheus text"},
    {.name = "targets", .help = "Print the hosts of [hosts.NAME] instead, for file_sd_configs of Prometheus"},
    {.name = "set", .argument = "NAME", .values = sets, .help = "Add the series of another exporter (may be repeated)"},
};

const struct command command_export = {
    .name = "export",
    .group = HELP_RUN,
    .summary = "Print all readings as Prometheus metrics",
    .details =
        "Asks the daemon, which also knows health, alerts and the guard; without one, or with --set, samples here. [metrics] in "
        "the configuration sets what it contains. FILE is replaced in one step, so a collector never sees half of it.",
    OPTIONS(options),
    .examples = {{"whirr export", "all series, as a scrape of /metrics returns them"},
                 {"whirr export -o /var/lib/prometheus/node-exporter/whirr.prom",
                  "for the textfile collector of node_exporter, from a timer"},
                 {"whirr export --set dcgm | grep DCGM", "under the names of dcgm-exporter"}},
    .lacks = "gpu",
    .run = export_run,
};
