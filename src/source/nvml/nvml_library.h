/* SPDX-License-Identifier: Apache-2.0
 * NVIDIA's library as a table of function pointers, any of which may be NULL. Opened once, never unloaded.
 */
#pragma once

#include "base/env.h"
#include "base/error.h"
#include "base/file.h"
#include "source/nvml/abi.h"

struct nvml_library {
    void *handle;
    char place[PATH_SIZE]; /* where it was found; "": by the loader */
    const char *(*error_string)(int);
#define CALL(slot, parameters, ...) int(*slot) parameters;
#include "source/nvml/calls.def"
#undef CALL
};

/* -ENODEV: the library is missing or lacks essential functions. */
int nvml_library_open(struct nvml_library *lib, const struct env *env, struct error *err);

/* The driver's message for a return code. */
const char *nvml_words(const struct nvml_library *lib, int code);

/* Functions missing in this version of the library, by their newest names, separated by ", ". */
void nvml_library_missing(const struct nvml_library *lib, struct buf *out);
