/* SPDX-License-Identifier: Apache-2.0
 * The sources of Windows, in order: replaces registry.c.
 */
#include "base/cleanup.h"
#include "source/source.h"

const struct source_ops *const source_registry[] = {&nvml_source, &nvidia_smi_source, &wddm_source, &sim_source, &replay_source};
const size_t source_registry_count = ARRAY_LEN(source_registry);
