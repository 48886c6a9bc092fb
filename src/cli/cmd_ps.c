/* SPDX-License-Identifier: Apache-2.0
 * whirr ps: processes on the GPUs.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/cli_fleet.h"
#include "cli/cli_show.h"
#include "fleet/fleet.h"
#include "format/table/table.h"

/* Some GPUs report power, or the load of a process, as a counter: a rate needs two samples. */
enum { RATE_MS = 300 };

#define USUAL_FIELDS "gpu_index,pid,user,display_name,model,container_name,memory_mb,utilization_percent,power_watts,simulated"

static bool needs_second_look(const struct snapshot *s)
{
    for (size_t i = 0; i < s->gpu_count; i++) {
        const struct gpu *gpu = &s->gpus[i];
        if (gpu->power_mw.state == READING_PENDING || gpu->util_permille.state == READING_PENDING)
            return true;
        for (size_t p = 0; p < gpu->process_count; p++)
            if (gpu->processes[p].util_permille.state == READING_PENDING || gpu->processes[p].cpu_permille.state == READING_PENDING)
                return true;
    }
    return false;
}

/* Sums up processes like a fleet with this single host. */
static int render_sums(struct cli *cli, const struct snapshot *s, const struct process_rows *rows, struct buf *out,
                       struct error *err)
{
    const struct fleet_view view = {.all = true, .by = fleet_by(options_value(cli->options, "by", ""))};
    struct fleet f = {.processes = calloc(rows->count + 1, sizeof *f.processes)};
    if (!f.processes)
        return error_set(err, -ENOMEM, "out of memory");
    for (size_t i = 0; i < rows->count; i++) {
        const struct process *p = rows->rows[i].process;
        struct fleet_process *to = &f.processes[f.process_count++];
        *to = (struct fleet_process){.mem_bytes = p->mem_bytes, .util_permille = p->util_permille, .power_mw = p->power_mw};
        str_copy(to->host, sizeof to->host, str_from(s->host.name));
        str_copy(to->process, sizeof to->process, str_from(p->name));
        str_copy(to->user, sizeof to->user, str_from(p->user));
        str_copy(to->container, sizeof to->container, str_from(process_container(p)));
        str_copy(to->job, sizeof to->job, str_from(p->job));
        process_pod(p, to->pod, sizeof to->pod);
        f.simulated |= rows->rows[i].gpu->simulated;
    }
    if (cli->json) {
        fleet_json_ps(AS_JSON(cli, out), &f, &view);
    } else {
        page_simulated_line(out, &cli->page, f.simulated);
        fleet_table_ps(out, &cli->page, &f, &view);
    }
    fleet_done(&f);
    return 0;
}

static int ps_render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    const struct options *o = cli->options;
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_QUICK, err);
    if (s && !options_has(o, "quick") && !options_has(o, "watch") && needs_second_look(s) && !session_asks_daemon(session)) {
        pause_ms(RATE_MS);
        snapshot_unref(s);
        s = session_sample(session, GROUP_QUICK, err);
    }
    if (!s)
        return err->code;
    struct process_filter filter = {
        .user = options_value(o, "user", NULL),
        .name = options_value(o, "name", NULL),
        .sort = options_value(o, "sort", NULL),
        .reverse = options_has(o, "reverse"),
    };
    const char *type = options_value(o, "type", "");
    filter.type = str_is(str_from(type), "compute") ? PROCESS_COMPUTE : str_is(str_from(type), "graphics") ? PROCESS_GRAPHICS : 0;
    if (session_choose(cli, &s, NULL, &filter.only, err) < 0)
        return err->code;
    AUTO_PROCESS_ROWS struct process_rows rows;
    int rc = process_rows_init(&rows, s, &filter);
    if (rc < 0)
        return error_set(err, rc, "out of memory");
    if (options_has(o, "by"))
        return render_sums(cli, s, &rows, out, err);
    if (fields_wanted(cli)) {
        AUTO_BUF struct buf body = BUF(FRAME_MAX);
        json_processes(JSON_TO(&body), s, &rows);
        return fields_write(cli, out, buf_view(&body), "processes", USUAL_FIELDS, s->taken_at, err);
    }
    if (cli->json) {
        json_processes(AS_JSON(cli, out), s, &rows);
        return 0;
    }
    if (s->gpu_count == 0) {
        table_no_gpu(out, &cli->page, s);
        return 0;
    }
    struct page page = cli->page;
    if (!cli->terminal)
        page.width = 0; /* don't cut commands in a pipe, for grep */
    if (!rows.count && (filter.user || filter.name)) {
        const char *what = filter.name ? filter.name : filter.user;
        buf_printf(out,
                   filter.user && filter.name ? "No processes of user %2$s with '%1$s' in their name or command.\n"
                   : filter.name              ? "No processes with '%s' in their name or command.\n"
                                              : "No processes of user %s.\n",
                   what, filter.user);
    } else
        table_ps(out, &page, s, &rows);
    return 0;
}

static int ps_run(struct cli *cli)
{
    if (options_has(cli->options, "fleet"))
        return fleet_run(cli, FLEET_PS);
    int status = fields_check(cli);
    return status == EXIT_FINE ? show(cli, ps_render) : status;
}

static const char *const types[] = {"compute", "graphics", NULL};

static const struct option_spec options[] = {
    {.name = "sort",
     .argument = "KEY",
     .values = process_sort_names,
     .any_case = true,
     .help = "Sort by a column of the table (default: gpu)"},
    {.name = "reverse", .letter = 'r', .help = "Reverse the order"},
    {.name = "user", .argument = "NAME", .complete = COMPLETE_USER, .help = "Show only processes of this user"},
    {.name = "name", .argument = "TEXT", .help = "Show only processes with this text in their name or command"},
    {.name = "type", .argument = "TYPE", .values = types, .help = "Show only compute or only graphics processes"},
    {.name = "show-secrets", .help = "Don't mask keys, tokens and passwords in commands"},
    {.name = "quick", .help = "Take one sample only; rates stay unknown"},
    FIELDS_OPTIONS,
    {FLEET_OPTION},
    {.name = "by", .argument = "WHAT", .values = fleet_keys, .help = "Add up by user, container, pod, job or host"},
    {FLEET_OPTION_ALL},
    {OPTION_WATCH},
};

const struct command command_ps = {
    .name = "ps",
    .summary = "Show GPU processes with their memory, utilization and power",
    .details =
        "One row per process and GPU. UTIL is the share of the compute units, BW of the memory bandwidth, ENC and DEC of the "
        "video engines. WATTS is the part of the GPU's power above idle that the process's share of these engines explains; "
        "BY is `util`, or `alone` where shares are unknown and it is the only process. The row `(not attributed)` has the "
        "rest: idle power, hidden processes, unknown shares. Arguments that look like keys, tokens or passwords are masked "
        "unless --show-secrets is given.",
    OPTIONS(options),
    .examples = {{"whirr ps --sort memory", "who is using the most memory"},
                 {"whirr ps --gpu 1 --user alice", "what alice is running on GPU 1"},
                 {"whirr ps --json | jq '.processes[].pid'", "the PIDs for a script"}},
    .gpus = true,
    .remote = true,
    .run = ps_run,
};
