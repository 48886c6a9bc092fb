/* SPDX-License-Identifier: Apache-2.0
 * What nvidia-smi says when it fails, as a sentence that tells what is wrong and what to do.
 */
#pragma once

#include "base/error.h"
#include "base/str.h"

/* `status` is the program's exit status. Returns -ENODEV where this host has no usable GPU, -EACCES, or -EIO; always fills err. */
int smi_explain(struct str output, int status, struct error *err);

/* The column that nvidia-smi does not know, of its message about it; false when it complains about something else. */
bool smi_unknown_column(struct str output, struct str *column);
/* It does not know --query-gpu at all. */
bool smi_unknown_option(struct str output);
