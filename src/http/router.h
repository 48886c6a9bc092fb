/* SPDX-License-Identifier: Apache-2.0
 * From a path to its route's handler: 404, 405 with Allow, OPTIONS, 401, 406.
 */
#pragma once

#include "http/exchange.h"

/* Sets x->route and checks method and access; otherwise answers and returns false. */
bool router_find(struct exchange *x);
/* Calls the handler after checking Accept. */
void router_handle(struct exchange *x);
