/* SPDX-License-Identifier: Apache-2.0
 * Cards of drivers that have no source of their own: what fdinfo and hwmon give, and nothing else.
 */
#pragma once

#include "source/source.h"

extern const struct source_ops drm_source;
