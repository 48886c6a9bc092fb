/* SPDX-License-Identifier: Apache-2.0
 * Queries of assistants: POST /mcp.
 */
#pragma once

struct exchange;

void post_mcp(struct exchange *x);
