/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

int cmd_serve(int argc, char **argv);
