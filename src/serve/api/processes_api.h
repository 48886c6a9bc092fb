/* SPDX-License-Identifier: Apache-2.0
 * GET /api/processes: processes on the GPUs, filtered, sorted, and with whole command lines for the owner.
 */
#pragma once

struct exchange;

void get_processes(struct exchange *x);
