/* SPDX-License-Identifier: Apache-2.0
 * The helper process of a check: see helper.c.
 */
#pragma once

#include <stdio.h>

#include "base/env.h"
#include "insight/check/run.h"

struct check_order {
    char uuid[GPU_UUID_SIZE], pci[GPU_PCI_SIZE], api[16]; /* api "": the first that shows this GPU */
    enum check_level level;
    unsigned tests;
    double seconds, deadline_s;
    uint32_t seed;
    bool fold;                      /* every step of the arithmetic counts */
    bool display;                   /* leave more memory */
    int64_t host_bytes, most_bytes; /* of memory that the host has to spare; at most so much of the GPU's (0: all) */
};

enum { ORDER_TEXT = 512 };
/* As an argument of the helper's command line. */
void check_order_write(const struct check_order *order, char text[ORDER_TEXT]);
bool check_order_read(const char *text, struct check_order *order);

/* Runs in a process of its own, which may hang or crash. Returns its exit status. */
int check_helper(const struct env *env, const struct check_order *order, FILE *out);
