/* SPDX-License-Identifier: Apache-2.0
 * The model that a command line names: "llama-server -m /x/qwen3-8b-q4_k_m.gguf" runs qwen3-8b-q4_k_m. A pure function.
 */
#pragma once

#include "base/str.h"

/* "" when the command line names none. */
void model_name(const struct str *args, size_t count, char *to, size_t size);
