/* SPDX-License-Identifier: Apache-2.0
 * GET /api/processes: who is on the GPUs, filtered, sorted, and for the owner with whole command lines.
 */
#pragma once

struct exchange;

void get_processes(struct exchange *x);
