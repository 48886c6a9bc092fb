/* SPDX-License-Identifier: Apache-2.0
 * Preloaded: the device cgroup refuses the file that WHIRR_FAKE_DENIED names, as a container meets it after a daemon-reload.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int access(const char *path, int mode)
{
    static int (*real)(const char *, int);
    const char *denied = getenv("WHIRR_FAKE_DENIED");
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "access");
    if (denied && strcmp(path, denied) == 0) {
        errno = EPERM;
        return -1;
    }
    return real(path, mode);
}
