/* SPDX-License-Identifier: Apache-2.0
 * whirr resources: CPU, memory, network and the best GPU of this host in one flat object.
 */

#include "cli/cli_show.h"
#include "format/json/json.h"
#include "format/table/table.h"
#include "host/machine.h"

/* Minimum time between the two CPU readings, before and after the GPUs are read. Programs get their answer within 50 ms; people
 * can wait for a finer one. Some virtual machines count ticks late: wait for a few more if there are none yet. */
enum { WINDOW_PROGRAMS_MS = 30, WINDOW_PEOPLE_MS = 250, TICK_MS = 10, TICKS_MAX = 5 };

static struct machine *machine;

static void resources_measure(struct host *host)
{
    pause_ms(machine_left_ms(machine));
    machine_sample(machine, host);
    machine_set_window(machine, TICK_MS);
    for (int i = 0; i < TICKS_MAX && host->cpu_permille.state == READING_PENDING; i++) {
        pause_ms(machine_left_ms(machine));
        machine_sample(machine, host);
    }
}

static int resources_render(struct cli *cli, struct session *session, struct buf *out, struct error *err)
{
    struct host host = {0};
    bool alone = !session_asks_daemon(session); /* a daemon measures continuously */
    if (alone && !machine && (machine = machine_new(&cli->env)) != NULL) {
        machine_set_window(machine, cli->json ? WINDOW_PROGRAMS_MS : WINDOW_PEOPLE_MS);
        machine_sample(machine, &host);
    }
    AUTO_SNAPSHOT const struct snapshot *s = session_sample(session, GROUP_QUICK, err);
    if (!s)
        return err->code;
    if (machine)
        resources_measure(&host);
    else
        host = s->host;
    if (cli->json)
        json_resources(AS_JSON(cli, out), s, &host);
    else
        table_resources(out, &cli->page, s, &host);
    return 0;
}

static int resources_run(struct cli *cli)
{
    int status = show(cli, resources_render);
    machine_free(machine);
    machine = NULL;
    return status;
}

static const struct option_spec options[] = {
    {OPTION_WATCH},
};

const struct command command_resources = {
    .name = "resources",
    .hidden = true,
    .summary = "Show CPU, memory, network and GPUs of this host in short",
    OPTIONS(options),
    .examples = {{"whirr resources", "CPU, memory, GPUs and network of this host"},
                 {"whirr resources --json | jq .gpu_free_vram_gb", "free memory of the GPU with the most available"},
                 {"whirr resources --watch=5", "refresh every 5 seconds"}},
    .remote = true,
    .lacks = "gpu",
    .run = resources_run,
};
