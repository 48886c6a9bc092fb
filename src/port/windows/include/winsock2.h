/* SPDX-License-Identifier: Apache-2.0
 * The system's sockets, without the common names that its headers define.
 */
#pragma once

#pragma push_macro("gethostname")
#pragma push_macro("POINT")
#pragma push_macro("TEXT")
#undef gethostname
#undef POINT
#undef TEXT
#include_next <winsock2.h>
#pragma pop_macro("TEXT")
#pragma pop_macro("POINT")
#pragma pop_macro("gethostname")
#undef near
#undef far
#undef small
#undef interface
