/* SPDX-License-Identifier: Apache-2.0
 * Where commands get the facts about a model, and the capacity to place it or an amount of memory in.
 */
#pragma once

#include "ask/session.h"
#include "insight/fit/model_size.h"
#include "insight/fit/placement.h"

/* Memory from a fresh sample; reserve, workers, health and history from the daemon, if one runs. Otherwise, the sample
 * (GROUP_ALL) and the kernel log decide on health. From malloc; NULL: out of memory. */
struct capacity *fit_capacity(struct cli *cli, struct session *session, const struct snapshot *s, int64_t reserve_bytes);

/* Turns "fits" into "unknown" if the files lack details: fitting weights don't prove that the model fits. */
void fit_doubt(const struct model_need *need, struct placement *p);

/* Reads the headers of a model's files: a GGUF file (whole or in parts), a safetensors file, or a directory of them. -errno and a
 * message that names the file. */
int model_files_read(const char *path, struct model_facts *facts, struct error *err);
