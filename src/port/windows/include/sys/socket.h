/* SPDX-License-Identifier: Apache-2.0
 * Sockets.
 */
#pragma once

#include <netinet/in.h>
