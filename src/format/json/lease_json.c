/* SPDX-License-Identifier: Apache-2.0
 * The list of leases.
 */
#include "base/cleanup.h"
#include "format/lease.h"

struct told_leases {
    const struct lease_list *list;
    bool commands;
    const struct gpu *only; /* NULL: all */
    const char (*problems)[LEASE_PROBLEM_SIZE];
    size_t problem_count;
    struct lease shown;
};

static const void *next_lease(const struct answer_at *at, struct answer_step *step)
{
    struct told_leases *l = at->context;
    while (step->at < l->list->count &&
           (l->list->at[step->at].state == LEASE_ENDED || (l->only && !lease_is_about(&l->list->at[step->at], l->only))))
        step->at++;
    if (step->at == l->list->count)
        return NULL;
    l->shown = l->list->at[step->at++];
    if (!l->commands)
        l->shown.command[0] = '\0';
    return &l->shown;
}

SHARED_ANSWER_TABLE(leases_answer, struct told_leases, .name = "Leases")
{
    EACH(OBJECT, "leases", next_lease, NULL, FIELDS(lease_answer));
    TEXTS(TEXT, "problems", problems, problem_count, "Files in the directory that do not count, and why");
}

void json_leases(struct json_writer *j, const struct lease_list *list, bool commands, const struct gpu *only)
{
    struct told_leases listed = {.list = list,
                                 .commands = commands,
                                 .only = only,
                                 .problems = list->problems,
                                 .problem_count = MIN_OF(list->problem_count, (size_t)LEASE_PROBLEMS_MAX)};
    answer_write(j, &leases_answer, &listed, &listed);
}
