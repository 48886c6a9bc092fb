/* SPDX-License-Identifier: Apache-2.0
 * The system's sockets, without the common names that its headers define.
 */
#pragma once

#pragma push_macro("gethostname")
#undef gethostname
#pragma push_macro("POINT") /* ours; theirs is a type */
#undef POINT
#include_next <winsock2.h>
#pragma pop_macro("POINT")
#pragma pop_macro("gethostname")
#undef near
#undef far
#undef small
#undef interface
