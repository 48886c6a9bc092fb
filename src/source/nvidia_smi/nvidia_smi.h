/* SPDX-License-Identifier: Apache-2.0
 * NVIDIA GPUs through the program nvidia-smi, where the library cannot be used.
 */
#pragma once

#include "source/source.h"

extern const struct source_ops nvidia_smi_source;
