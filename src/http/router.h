/* SPDX-License-Identifier: Apache-2.0
 * From a path to the handler of its route: 404, 405 with Allow, OPTIONS, 401, 406.
 */
#pragma once

#include "http/exchange.h"

/* Finds x->route and checks method and trust; answers itself and returns false when there is nothing to handle. */
bool router_find(struct exchange *x);
/* Calls the handler, after a look at Accept. */
void router_handle(struct exchange *x);
