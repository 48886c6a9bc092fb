/* SPDX-License-Identifier: Apache-2.0
 * GET /api/history, /api/history/processes, /api/history/events.
 */
#pragma once

struct exchange;

void get_history(struct exchange *x);
void get_history_processes(struct exchange *x);
void get_history_events(struct exchange *x);
void get_history_limits(struct exchange *x);
