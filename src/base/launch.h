/* SPDX-License-Identifier: Apache-2.0
 * Running a program for its output, with a deadline that holds.
 */
#pragma once

#include "base/env.h"

int launch_program(const struct env *env, const struct launch *launch, struct error *err);
