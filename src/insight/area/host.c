/* SPDX-License-Identifier: Apache-2.0
 * The host around its GPUs: what keeps them from being read (driver_access.c), and what slows GPUs down that work: its network
 * between nodes, its power, the clocks of its CPU.
 */
#include "insight/area/area.h"
#include "model/finding_code.h"

enum { AT_WORK_PERMILLE = 200 };

static bool any_at_work(const struct snapshot *now)
{
    for (size_t i = 0; i < now->gpu_count; i++)
        if (reading_or(now->gpus[i].util_permille, 0) >= AT_WORK_PERMILLE)
            return true;
    return false;
}

static void add(struct why_part *part, finding_code code, const char *evidence, const char *sentence)
{
    struct cause_draft d;
    cause_begin(&d, part, code);
    support(&d, 0.9, "%s", evidence);
    cause_end(&d, "%s", sentence);
}

static void rule_infiniband(const struct host *host, struct why_part *part)
{
    struct cause_draft d;
    int64_t lost = reading_or(host->ib_ports_lost, 0), slow = reading_or(host->ib_ports_slow, 0);
    int64_t flaps = reading_or(host->ib_flaps, 0), retries;
    if (lost <= 0 && slow <= 0 && flaps <= 0)
        return;
    cause_begin(&d, part, FINDING_INFINIBAND);
    support(&d, 0.9, "%lld InfiniBand ports have a link", (long long)reading_or(host->ib_ports_up, 0));
    if (host->ib_lost_names[0])
        support(&d, 0, "no link: %s; taken out on purpose: whirr forget NAME", host->ib_lost_names);
    if (flaps > 0)
        support(&d, 0, "lately a link was lost %lld times", (long long)flaps);
    if (reading_get(host->rdma_retries_per_s, &retries) && retries > 0)
        support(&d, 0, "%lld packets a second are sent again", (long long)retries);
    if (lost <= 0 && slow <= 0)
        cause_end(&d, "A link of InfiniBand was lost and came back: a cable or a transceiver is loose or failing");
    else if (lost > 0)
        cause_end(&d, "%lld InfiniBand port%s lost %s link", (long long)lost, lost == 1 ? " has" : "s have",
                  lost == 1 ? "its" : "their");
    else
        cause_end(&d, "%lld InfiniBand port%s slower than %s of the same model", (long long)slow, slow == 1 ? " is" : "s are",
                  slow == 1 ? "others" : "the others");
}

void rules_host(const struct snapshot *now, struct why_part *part)
{
    rule_accelerators(now, part);
    rules_source(now, part);
    rule_infiniband(&now->host, part);
    if (!any_at_work(now))
        return;
    if (reading_or(now->host.on_battery, 0))
        add(part, FINDING_ON_BATTERY, "no power supply is connected", "The host is running on battery, so its GPUs get less power");
    if (reading_or(now->host.cpu_clocks_low, 0))
        add(part, FINDING_CPU_CLOCKS_LOW, "governor powersave", "The CPU is held at its lowest clocks, so GPUs may wait for it");
}

/* ---- what to do ---- */

void remedy_host(struct why_part *part, finding_code code)
{
    if (!remedy_source(part, code))
        remedy_add_own(part, code);
    if (code != FINDING_ASLEEP && code != FINDING_SOURCE_RELEASED)
        remedy_add(part, REMEDY_DOCTOR, NULL);
}
