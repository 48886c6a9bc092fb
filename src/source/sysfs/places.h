/* SPDX-License-Identifier: Apache-2.0
 * Where a driver's library or program lies on hosts whose loader and PATH do not know it: WSL2, NixOS, GPU operator, GKE, Flatpak,
 * ROCm.
 */
#pragma once

#include "base/env.h"
#include "base/file.h"

/* The library by its plain name, then from each known place that has it. `used` gets the path that was loaded, "" where the loader
 * found it. A name with a slash is the only one tried. NULL with the loader's own words for the plain name. */
void *place_load_library(const struct env *env, const char *name, char used[PATH_SIZE], struct error *err);

/* The path of a program that PATH does not have; false: no known place has it, or its name is a path. */
bool place_find_program(const struct env *env, const char *name, char path[PATH_SIZE]);

/* Directories that are looked into behind the loader's own, separated by ", "; of a Flatpak runtime only where there is one. */
void places_list(const struct env *env, struct buf *out);
