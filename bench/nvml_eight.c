/* SPDX-License-Identifier: Apache-2.0
 * The least that a program must do to print the eight values of `nvidia-smi --query-gpu` by itself: the floor of a one-shot.
 *
 *   cc -O2 bench/nvml_eight.c -o nvml_eight -ldl && ./nvml_eight
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!library)
        return 1;
#define LOOK_UP(name) int (*name)() = (int (*)())dlsym(library, #name)
    LOOK_UP(nvmlInit_v2);
    LOOK_UP(nvmlDeviceGetHandleByIndex_v2);
    LOOK_UP(nvmlDeviceGetName);
    LOOK_UP(nvmlDeviceGetTemperature);
    LOOK_UP(nvmlDeviceGetPowerUsage);
    LOOK_UP(nvmlDeviceGetMemoryInfo);
    LOOK_UP(nvmlDeviceGetUtilizationRates);
    void *card;
    char name[96] = "";
    unsigned celsius = 0, milliwatts = 0, load[2] = {0};
    unsigned long long memory[3] = {0};
    if (nvmlInit_v2() || nvmlDeviceGetHandleByIndex_v2(0, &card))
        return 1;
    nvmlDeviceGetName(card, name, (unsigned)sizeof name);
    nvmlDeviceGetTemperature(card, 0, &celsius);
    nvmlDeviceGetPowerUsage(card, &milliwatts);
    nvmlDeviceGetMemoryInfo(card, memory);
    nvmlDeviceGetUtilizationRates(card, load);
    printf("0, %s, %u, %.2f, %llu, %llu, %u, %u\n", name, celsius, milliwatts / 1000.0, memory[2] >> 20, memory[0] >> 20, load[0],
           load[1]);
    fflush(stdout);
    _exit(0);
}
