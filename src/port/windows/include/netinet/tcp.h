/* SPDX-License-Identifier: Apache-2.0
 * Options of TCP.
 */
#pragma once

#include <netinet/in.h>
