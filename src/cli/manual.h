/* SPDX-License-Identifier: Apache-2.0
 * Man pages from the command table, as source for scdoc(5), and the list of metrics from the metric table.
 */
#pragma once

#include "base/buf.h"
#include "cli/command.h"

void manual_overview(struct buf *out);
void manual_command(struct buf *out, const struct command *command);

void manual_metrics(struct buf *out, const struct page *page);
void manual_metrics_markdown(struct buf *out);
