/* SPDX-License-Identifier: Apache-2.0
 * The health of the GPUs as JSON, for people, as output of a check plugin, and as metrics.
 */
#pragma once

#include "base/json_writer.h"
#include "insight/verdict/health.h"

struct page;
extern const struct answer health_answer, health_change_answer;

/* The basis of a verdict. */
struct health_basis {
    struct wall at;
    bool remembered;           /* by a daemon; otherwise from one sample */
    struct wall watched_since; /* by the daemon; ms 0: not */
    const char *log_state;     /* of the kernel log: "read", "denied", "absent", "skipped" */
    const char *log_message;   /* what to do about it; "": nothing */
};

enum { HEALTH_ALL = -1 };

/* ---- what the host should have ---- */

enum inventory_place { INVENTORY_PRESENT, INVENTORY_MISSING, INVENTORY_REPLACED, INVENTORY_FORGOTTEN };
struct inventory_gpu { /* or a part that is none */
    const struct health_card *card;
    const char *name;
    enum inventory_place place;
    struct gpu_id successor;
};
struct inventory {
    const struct health_history *known;
    const struct snapshot *now;
    const char *only;         /* called so; NULL: all */
    size_t found;             /* that were written */
    struct inventory_gpu gpu; /* the one being written */
};
extern const struct answer inventory_answer, forgotten_one_answer; /* the second of one GPU */
void inventory_gpu(struct inventory_gpu *to, const struct health_card *card, const struct snapshot *now);
void json_inventory_gpu(struct json_writer *j, const struct health_card *card, const struct snapshot *now);
/* `only`: by index, UUID or PCI address; NULL: all. Returns how many there are. */
size_t json_inventory(struct json_writer *j, const struct health_history *known, const struct snapshot *now, const char *only);

/* ---- health ---- */

/* The body of /api/gpu/health. `only`: a GPU's index, or HEALTH_ALL. */
/* `verdict` of the same moment; NULL: not judged. */
void json_health(struct json_writer *j, const struct health *health, const struct health_basis *basis,
                 const struct verdict *verdict, int only);
/* The data of the event `gpu_health`. */
void json_health_change(struct json_writer *j, const struct health_verdict *v, struct wall at);
/* Parses the output of json_health; NULL: malformed. The basis points into `texts`. */
struct health *health_from_json(struct str text, struct health_basis *basis, struct buf *texts);

void table_health(struct buf *out, const struct page *page, const struct health *health, const struct health_basis *basis,
                  const struct verdict *verdict, int only);
/* The exit status of monitoring plugins: that of the worst GPU that could be judged; 3: none could. */
int health_status(const struct health *health, int only);
/* One line with performance data. */
void nagios_health(struct buf *out, const struct health *health, const struct health_basis *basis, int only);
/* whirr_gpu_health{state=...}: 1 for the present state, 0 for the others. */
void prometheus_health(struct buf *out, const struct health *health);
