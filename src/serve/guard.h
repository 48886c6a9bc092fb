/* SPDX-License-Identifier: Apache-2.0
 * /api/guard and below: handed to the daemon's guard.
 */
#pragma once

struct exchange;

void handle_guard(struct exchange *x);
