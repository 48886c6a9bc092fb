/* SPDX-License-Identifier: Apache-2.0
 * Finds the files of a model and reads their headers: a GGUF file (whole or in parts), a safetensors file, or a directory of them.
 */
#pragma once

#include "insight/fit/model_size.h"

/* -errno and a message that names the file. */
int model_files_read(const char *path, struct model_facts *facts, struct error *err);
