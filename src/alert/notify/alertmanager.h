/* SPDX-License-Identifier: Apache-2.0
 * Alerts as Alertmanager's API v2 reads them. Labels make an alert's identity there: nothing that changes may be among them.
 */
#pragma once

#include "alert/notify/body.h"

/* The address of the server, of its API or of the path for alerts: all become the last. */
void alertmanager_url(const char *given, char url[NOTIFY_URL_SIZE]);
/* A firing alert ends by itself when it is not repeated in time: a machine that died is not on fire for ever. */
void alertmanager_body(const struct notice_group *group, struct wall now, struct buf *out);
