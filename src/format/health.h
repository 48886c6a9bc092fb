/* SPDX-License-Identifier: Apache-2.0
 * The health of the GPUs as JSON, for people, as a line of a check plugin, and as metrics.
 */
#pragma once

#include "base/json_writer.h"
#include "insight/finding/health.h"

struct page;

/* What a verdict rests on. */
struct health_basis {
    struct wall at;
    bool remembered;           /* by a daemon; else from one look */
    struct wall watched_since; /* by the daemon; ms 0: not */
    const char *log_state;     /* "read", "denied", "absent", "skipped": the kernel log */
    const char *log_message;   /* what to do about it; "" fine */
};

enum { HEALTH_ALL = -1 };

/* The body of /api/gpu/health. `only`: a GPU's index, or HEALTH_ALL. */
/* `verdict` of the same moment; NULL: not judged. */
void json_health(struct json_writer *j, const struct health *health, const struct health_basis *basis,
                 const struct verdict *verdict, int only);
/* The data of the event `gpu_health`. */
void json_health_change(struct json_writer *j, const struct health_verdict *v, struct wall at);
/* Reads what json_health wrote; NULL: it did not. Texts of the basis live as long as `texts`. */
struct health *health_from_json(struct str text, struct health_basis *basis, struct buf *texts);

void table_health(struct buf *out, const struct page *page, const struct health *health, const struct health_basis *basis,
                  const struct verdict *verdict, int only);
/* The exit status of monitoring plugins: that of the worst GPU that could be judged; 3: none could. */
int health_status(const struct health *health, int only);
/* One line with performance data. */
void nagios_health(struct buf *out, const struct health *health, const struct health_basis *basis, int only);
/* whirr_gpu_health{state=...}: 1 for the state that holds, 0 for the others. */
void prometheus_health(struct buf *out, const struct health *health);
