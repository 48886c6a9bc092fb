/* SPDX-License-Identifier: Apache-2.0
 * Error messages of nvidia-smi. The sentence is ours, the words in parentheses are the tool's, for people who search for them.
 */
#include "source/nvidia_smi/internal.h"

#include <errno.h>

#include "base/cleanup.h"

static const struct {
    const char *says; /* part of the message */
    int code;
    const char *sentence;
} messages[] = {
    {"couldn't communicate with the NVIDIA driver", -ENODEV,
     "the NVIDIA driver is not running: load it (modprobe nvidia) or install it for the running kernel"},
    {"Driver/library version mismatch", -ENODEV,
     "the NVIDIA driver in the kernel and its libraries have different versions, as after an upgrade: reboot, or reload the nvidia "
     "kernel modules"},
    {"No devices were found", -ENODEV, "the NVIDIA driver runs but finds no GPU that it can use: look at the kernel log (dmesg)"},
    {"GPU access blocked by the operating system", -EACCES,
     "the operating system blocks access to the GPU: under WSL, update Windows and its NVIDIA driver"},
    {"Insufficient Permissions", -EACCES, "no permission to use the NVIDIA driver: check the device files /dev/nvidia*"},
    {"Failed to initialize NVML: Unknown Error", -ENODEV,
     "NVML cannot be initialized: in a container, access to /dev/nvidia* was taken away after its start, restart the container"},
    {"Failed to initialize NVML: Driver Not Loaded", -ENODEV, "the NVIDIA driver is not loaded: modprobe nvidia"},
    {"Failed to initialize NVML", -ENODEV, "NVML cannot be initialized"},
    {"couldn't find libnvidia-ml.so", -ENODEV,
     "the library libnvidia-ml.so of the NVIDIA driver is missing: install the driver's "
     "utilities, or pass them into the container"},
    {"GPU is lost", -EIO, "a GPU is lost and hides the others: reboot the host, or reset the GPU"},
    {"Unable to determine the device handle", -EIO, "a GPU cannot be reached and hides the others: look at the kernel log (dmesg)"},
};

/* The first non-empty line. */
static struct str first_line(struct str output)
{
    struct str line;
    while (str_cut(&output, '\n', &line)) {
        line = str_trim(line);
        if (line.len)
            return line;
    }
    return (struct str){"", 0};
}

int smi_explain(struct str output, int status, struct error *err)
{
    char words[200];
    str_copy_clean(words, sizeof words, first_line(output));
    for (size_t i = 0; i < ARRAY_LEN(messages); i++)
        if (str_contains(output, messages[i].says))
            return error_set(err, messages[i].code, "%s (%s)", messages[i].sentence, words);
    if (words[0])
        return error_set(err, -EIO, "nvidia-smi failed with status %d (%s)", status, words);
    return error_set(err, -EIO, "nvidia-smi failed with status %d and no message", status);
}

bool smi_unknown_column(struct str output, struct str *column)
{
    static const char mark[] = "Field \"", end[] = "\" is not a valid field";
    const char *start = output.len ? memmem(output.at, output.len, mark, sizeof mark - 1) : NULL;
    if (!start)
        return false;
    start += sizeof mark - 1;
    const char *stop = memmem(start, output.len - (size_t)(start - output.at), end, sizeof end - 1);
    if (!stop)
        return false;
    *column = (struct str){start, (size_t)(stop - start)};
    return true;
}

bool smi_unknown_option(struct str output)
{
    return str_contains(output, "Invalid combination of input arguments") || str_contains(output, "nrecognized option") ||
           str_contains(output, "not a recognized option");
}
