/* SPDX-License-Identifier: Apache-2.0
 * All hosts of a database in the live view: rows of hosts, GPUs or processes, or one host with its GPUs and processes. The
 * selection, the filter, notes and requests are those of struct top.
 */
#pragma once

#include "fleet/fleet.h"
#include "tui/top.h"

/* FLEET_SORT_FIRST is the default order of each list: worst first, or most memory held, free, or used. */
enum fleet_sort { FLEET_SORT_FIRST, FLEET_SORT_UTIL, FLEET_SORT_FREE, FLEET_SORT_POWER, FLEET_SORT_HOST, FLEET_SORT_COUNT };
extern const char *const fleet_sort_names[FLEET_SORT_COUNT]; /* sort keys of the columns */

/* One of the three is set; none: a heading. */
struct fleet_row {
    const struct fleet_host *host;
    const struct fleet_gpu *gpu;
    const struct fleet_process *process;
    int64_t rank; /* higher ones come first */
};

/* The kind of rows: hosts, GPUs that are held but idle, GPUs with free memory, processes. */
enum fleet_list { FLEET_PART_HOSTS, FLEET_PART_HELD, FLEET_PART_FREE, FLEET_PART_PROCESSES, FLEET_PARTS };
extern const char *const fleet_part_names[FLEET_PARTS];

struct top_fleet {
    struct fleet fleet;
    enum fleet_list part;
    bool known; /* an answer has arrived */
    struct fleet_host *hosts;
    size_t host_count;
    enum fleet_sort sort;
    bool reverse;
    char open[HOST_NAME_SIZE]; /* the open host; "": all */
    size_t back;               /* the selection to return to */
    struct fleet_row *rows;    /* row_count of struct top */
};

struct top_fleet *top_fleet_new(void); /* NULL: out of memory */
void top_fleet_free(struct top_fleet *f);
/* Takes ownership of the answer. */
void top_fleet_take(struct top *t, struct fleet *answer, struct wall at);
void top_fleet_rows(struct top *t);

/* The host of a row, for drawing and filtering. */
const char *fleet_row_host(const struct fleet_row *row);
/* Who holds memory on a host, or on one of its GPUs: "alice, bob +2"; "": no process. */
void fleet_holders(const struct fleet *f, const char *host, const char *gpu, char *text, size_t size);
/* Free memory on all its working GPUs. */
struct reading fleet_host_free(const struct fleet_host *h);
