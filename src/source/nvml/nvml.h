/* SPDX-License-Identifier: Apache-2.0
 * NVIDIA GPUs through libnvidia-ml.so.1, loaded late and with our own declarations.
 */
#pragma once

#include "source/source.h"

extern const struct source_ops nvml_source;
