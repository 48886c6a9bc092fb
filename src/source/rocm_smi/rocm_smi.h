/* SPDX-License-Identifier: Apache-2.0
 * AMD cards through the programs rocm-smi or amd-smi, where the kernel's files are not visible.
 */
#pragma once

#include "source/source.h"

extern const struct source_ops rocm_smi_source;
