/* SPDX-License-Identifier: Apache-2.0
 * How urgent an explanation is: the color of its mark in the terminal and of its sentence in the dashboard.
 */
#include "insight/why/why.h"

const char *why_severity_name(enum why_severity severity)
{
    return severity == WHY_CRITICAL ? "critical" : severity == WHY_WARNING ? "warning" : "info";
}

static enum why_severity severity_of_host(const struct why_part *machine)
{
    if (!machine->cause_count)
        return WHY_INFO;
    switch (machine->causes[0].code) {
    case WHY_SOURCE_HUNG: return WHY_CRITICAL;
    case WHY_NO_DRIVER:
    case WHY_DRIVER_MISMATCH:
    case WHY_NO_PERMISSION:
    case WHY_SOURCE_FAILING: return WHY_WARNING;
    default: return WHY_INFO;
    }
}

enum why_severity why_part_severity(const struct why_part *part)
{
    if (part->gpu_index < 0)
        return severity_of_host(part);
    if (!part->brief.trouble)
        return WHY_INFO;
    return activity_rank(&part->activity) <= 2 ? WHY_CRITICAL : WHY_WARNING; /* lost, failing, throttling for heat */
}

enum why_severity why_severity(const struct why *why)
{
    enum why_severity host = why_part_severity(&why->machine);
    if (!why->gpu_count)
        return host;
    enum why_severity main = why_part_severity(&why->gpus[why->main]);
    return main > host ? main : host;
}
