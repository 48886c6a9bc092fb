/* SPDX-License-Identifier: Apache-2.0
 * The list of leases.
 */
#include "base/cleanup.h"
#include "format/lease.h"

void json_leases(struct json_writer *j, const struct lease_list *list, bool commands)
{
    jw_object(j);
    jw_key_array(j, "leases");
    for (size_t i = 0; i < list->count; i++) {
        struct lease l = list->at[i];
        if (!commands)
            l.command[0] = '\0';
        if (l.state != LEASE_ENDED)
            lease_json(j, &l);
    }
    jw_end(j);
    jw_key_array(j, "problems");
    for (size_t i = 0; i < MIN_OF(list->problem_count, (size_t)LEASE_PROBLEMS_MAX); i++)
        jw_text(j, list->problems[i]);
    jw_end(j);
    jw_end(j);
}
