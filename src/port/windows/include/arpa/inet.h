/* SPDX-License-Identifier: Apache-2.0
 * Addresses as text.
 */
#pragma once

#include <netinet/in.h>
