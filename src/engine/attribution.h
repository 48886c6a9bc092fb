/* SPDX-License-Identifier: Apache-2.0
 * How much of a card's power each of its processes is responsible for. Pure.
 *
 * The shares of all processes add up to the card's power: by compute share where it is known, else by memory held; a process
 * that is alone gets all of it. What idles along (the power an idle card draws anyway) is not singled out: somebody keeps it on.
 */
#pragma once

#include "model/gpu.h"

void attribute_power(struct gpu *gpu);
