/* SPDX-License-Identifier: Apache-2.0
 * The program's entry.
 */
#include <stdio.h>

int main(void)
{
    printf("whirr %s\n", WHIRR_VERSION);
    return 0;
}
