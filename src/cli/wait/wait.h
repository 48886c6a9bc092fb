/* SPDX-License-Identifier: Apache-2.0
 * What `whirr wait` says about programs (awaited_text.c): words and JSON, pure.
 */
#pragma once

#include "ask/cli.h"
#include "base/os/program.h"
#include "base/str.h"

enum { AWAITED_MAX = 64, AWAITED_NAME_SIZE = 192 };

/* A program whose end is awaited. */
struct awaited {
    int32_t pid;
    int64_t start_key;            /* identifies it together with the PID; 0: unknown */
    char name[AWAITED_NAME_SIZE]; /* "train.py · Llama-3.1-8B (alice)" */
    int handle;                   /* -1: it is looked for in each sample instead */
    bool ended;
    int status; /* exit status; END_STATUS_UNKNOWN */
};

struct awaited_list {
    size_t count;
    struct awaited at[AWAITED_MAX];
};

/* "Waiting for train.py (alice), PID 4242." or "Waiting for 8 programs called train.py." */
void awaited_begin_text(const struct awaited_list *l, const char *asked, struct buf *out);
/* "train.py (alice) has ended after 2h 3m, exit status 0." */
void awaited_end_text(const struct awaited_list *l, const char *asked, int64_t waited_ms, struct buf *out);
void awaited_json(const struct awaited_list *l, int64_t waited_ms, struct buf *out);
/* The exit status of `wait`: the program's own (of several, the largest), 0 where it is not known. */
int awaited_status(const struct awaited_list *l);
