/* SPDX-License-Identifier: Apache-2.0
 * A machine made of files for tests of sources: builds trees in a temporary directory, makes reads fail as drivers do, and writes
 * a GPU down as text that can be compared with a golden file.
 */
#pragma once

#include "base/buf.h"
#include "base/env.h"
#include "base/file.h"
#include "model/gpu.h"
#include "source/source.h"

struct tree {
    char root[PATH_SIZE];
    bool made; /* by the test, not recorded */
    struct clock_manual clock;
    struct env env; /* its sysroot is `root`, its clock `clock` */
};

/* A new empty directory, removed by tree_done. */
void tree_init(struct tree *t);
/* The same with the files of tests/machines/NAME.machine in it. */
void tree_machine(struct tree *t, const char *name);
/* A tree below the folder of fixtures, an extra; false where there is none. Read only: tree_done leaves it alone. */
bool tree_recorded(struct tree *t, const char *name);
void tree_done(struct tree *t);

/* Paths as on the real machine. Folders are made as needed. */
void tree_write(struct tree *t, const char *path, const char *text);
void tree_write_bytes(struct tree *t, const char *path, const void *bytes, size_t size);
void tree_link(struct tree *t, const char *path, const char *target);
void tree_remove(struct tree *t, const char *path); /* with everything below it */

/* Reads of paths that end with `suffix` fail with `error` from now on; error 0: only the first `length` bytes come. */
void fault_read(const char *suffix, int error);
void fault_open(const char *suffix, int error);
void fault_short(const char *suffix, size_t length);
/* Called once, just before a path that ends with `suffix` is opened. */
void fault_before_open(const char *suffix, void (*action)(void *), void *context);
/* The n-th open, read or write from now on fails with `error`; 0: none does. fault_calls says how many there were. */
void fault_call(size_t n, int error);
size_t fault_calls(void);
void fault_clear(void);
/* How often paths that end with `suffix` were opened since fault_clear (which also starts the watch). */
size_t opened(const char *suffix);
void watch_opens(void);

/* One line a known value: "id.name AMD ...", "util_permille 30", "driver amdgpu", "process 42 ..."; absent ones are left out. */
void gpu_write(const struct gpu *gpu, const char *indent, struct buf *out);
/* Opens a source, lists and samples everything once, and writes all of it down. */
char *source_write(const struct source_ops *ops, const struct env *env);
/* Compares with tests/golden/source/NAME; shows both when they differ. With WHIRR_WRITE_GOLDEN=1 it writes the file instead: then
 * check each line by hand against the machine. */
void assert_golden(const char *name, const char *text);

/* A card as a driver shows it at least: uevent and a render node. `vendor_device` is "1002:744C". */
void tree_card(struct tree *t, const char *name, const char *driver, const char *pci, const char *vendor_device, int render_minor);
/* A file below the device of a card. */
void tree_device(struct tree *t, const char *card, const char *file, const char *text);
void tree_process(struct tree *t, int pid, const char *comm);
/* An open graphics device of a process: node is "renderD128" or "card0". */
void tree_fd(struct tree *t, int pid, int fd, const char *node, const char *fdinfo);
/* fdinfo of amdgpu with the given client, gfx time and VRAM. */
void tree_amd_fd(struct tree *t, int pid, int fd, const char *pci, int client, long long gfx_ns, long long vram_kib);
