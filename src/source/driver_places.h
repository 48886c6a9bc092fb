/* SPDX-License-Identifier: Apache-2.0
 * Locations of a driver's library or program on hosts whose loader and PATH don't know them: WSL2, NixOS, GPU operator, GKE,
 * Flatpak, ROCm.
 */
#pragma once

#include "base/env.h"
#include "base/file.h"

/* Loads the library by its plain name, then from each known directory. `used` gets the path, "" if the loader found it. A name
 * with a slash is the only one tried. NULL with the loader's message for the plain name. */
void *place_load_library(const struct env *env, const char *name, char used[PATH_SIZE], struct error *err);

/* The path of a program outside PATH; false: in no known directory, or its name is a path. */
bool place_find_program(const struct env *env, const char *name, char path[PATH_SIZE]);

/* Directories searched after the loader's own, separated by ", "; Flatpak's only if it exists. */
void places_list(const struct env *env, struct buf *out);
