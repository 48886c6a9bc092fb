/* SPDX-License-Identifier: Apache-2.0
 * AMD cards through the kernel's files; also those of the old radeon driver.
 */
#pragma once

#include "source/source.h"

extern const struct source_ops amdgpu_source;
