/* SPDX-License-Identifier: Apache-2.0
 * Intel graphics through the kernel's files: the drivers i915 and xe.
 */
#pragma once

#include "source/source.h"

extern const struct source_ops intel_source;
