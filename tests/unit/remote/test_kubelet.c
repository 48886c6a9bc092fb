/* SPDX-License-Identifier: Apache-2.0
 * What the kubelet says of pods and their devices, by the names that device plugins and drivers of claims (DRA) give them.
 */
#include "remote/kubelet.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "net/protobuf.h"
#include "source/tree.h"
#include "test.h"

static struct str nested(struct buf *out, unsigned field, struct str inner)
{
    pb_bytes(out, field, inner);
    return buf_view(out);
}

/* The answer about one container: a field of its message, in the frame of gRPC. */
static void answer(struct buf *out, unsigned field, struct str message)
{
    AUTO_BUF struct buf container = BUF(1 << 12), pod = BUF(1 << 12), list = BUF(1 << 12);
    pb_bytes(&container, field, message);
    pb_text(&container, 1, "main"); /* the name may stand behind */
    pb_text(&pod, 2, "ml");
    pb_bytes(&pod, 3, buf_view(&container));
    pb_text(&pod, 1, "train-0");
    pb_bytes(&list, 1, buf_view(&pod));
    const char frame[5] = {0, 0, 0, (char)(list.len >> 8), (char)list.len};
    buf_add(out, frame, sizeof frame);
    buf_str(out, buf_view(&list));
}

static void take_plugin(const char *resource, const char *id, struct kubelet_devices *ret)
{
    AUTO_BUF struct buf devices = BUF(1 << 12), out = BUF(1 << 12);
    pb_text(&devices, 1, resource);
    pb_text(&devices, 2, id);
    answer(&out, 2, buf_view(&devices));
    assert_int_equal(kubelet_take(buf_view(&out), ret), 0);
}

/* `device` NULL: an older kubelet, which has only the name for the container runtime. */
static void take_claim(const char *driver, const char *device, const char *cdi, struct kubelet_devices *ret)
{
    AUTO_BUF struct buf name = BUF(1 << 12), claim = BUF(1 << 12), resource = BUF(1 << 12), out = BUF(1 << 12);
    pb_text(&name, 1, cdi);
    pb_bytes(&claim, 1, buf_view(&name));
    if (device) {
        pb_text(&claim, 2, driver);
        pb_text(&claim, 3, "node-7");
        pb_text(&claim, 4, device);
    }
    pb_text(&resource, 2, "one-gpu");
    pb_text(&resource, 3, "ml");
    answer(&out, 5, nested(&resource, 4, buf_view(&claim)));
    assert_int_equal(kubelet_take(buf_view(&out), ret), 0);
}

static const struct gpu gpus[] = {
    {.id = {.uuid = "GPU-1", .pci_address = "0000:01:00.0", .vendor = "nvidia"}, .index = 0, .device_minor = {1, READING_OK}},
    {.id = {.uuid = "GPU-2", .pci_address = "0000:02:00.0", .vendor = "nvidia"}, .index = 1, .device_minor = {0, READING_OK}},
    {.id = {.pci_address = "0000:63:00.0", .vendor = "amd"}, .index = 2},
    {.id = {.pci_address = "0000:73:00.0", .vendor = "intel"}, .index = 3},
};

/* Which of them; -1: none. */
static int found(const struct kubelet_devices *d)
{
    int ret = -1;
    if (d->count == 0)
        return -1;
    assert_string_equal(d->list[0].pod, "train-0");
    assert_string_equal(d->list[0].space, "ml");
    assert_string_equal(d->list[0].container, "main");
    for (size_t i = 0; i < ARRAY_LEN(gpus); i++)
        if (kubelet_device_is(&d->list[0], &gpus[i])) {
            assert_int_equal(ret, -1); /* never two */
            ret = (int)i;
        }
    return ret;
}

static void devices_are_found_by_the_names_that_plugins_and_drivers_give_them(void **state)
{
    (void)state;
    static const struct {
        const char *driver, *device, *cdi;
        int gpu;
    } cases[] = {
        {"nvidia.com/gpu", "GPU-2", NULL, 1},
        {"nvidia.com/gpu", "GPU-2::3", NULL, 1},
        {"nvidia.com/gpu", "nvidia0", NULL, 1}, /* the number of the device file, which is not the index */
        {"nvidia.com/gpu", "nvidia1/gi3", NULL, 0},
        {"nvidia.com/gpu", "nvidia12", NULL, -1},
        {"amd.com/gpu", "0000:63:00.0", NULL, 2},
        {"gpu.intel.com/i915", "card5-0", NULL, 3},
        {"gpu.intel.com/xe", "card5-12", NULL, 3},
        {"gpu.intel.com/i915", "card0-0", NULL, -1},
        {"gpu.intel.com/i915_monitoring", "all", NULL, -1},
        {"gpu.nvidia.com", "gpu-0", "k8s.gpu.nvidia.com/device=gpu-0", 1},
        {"gpu.nvidia.com", "gpu-1-mig-19-0-1", "k8s.gpu.nvidia.com/device=gpu-1-mig-19-0-1", 0},
        {"gpu.amd.com", "gpu-1-129", "amd.com/gpu=gpu-1-129", 2},
        {"gpu.amd.com", "gpu-1-140", "amd.com/gpu=gpu-1-140", -1},
        {"gpu.intel.com", "0000-73-00-0-0x56c0", "intel.com/gpu=0000-73-00-0-0x56c0", 3},
        {"dra.net", "0000-73-00-0", "dra.net/nic=0000-73-00-0", -1},
        {"compute-domain.nvidia.com", "channel-0", "k8s.compute-domain.nvidia.com/channel=0", -1},
        {NULL, NULL, "k8s.gpu.nvidia.com/claim=d6b0a3f2-1c1f-4b8e-9d34-0f7f0b6f1e11-gpu-0", 1},
        {NULL, NULL, "intel.com/gpu=0000-73-00-0-0x56c0", 3},
        {NULL, NULL, "amd.com/gpu=gpu-1-129", 2},
        {NULL, NULL, "gpu", -1},
    };
    struct tree tree;
    tree_init(&tree);
    tree_card(&tree, "card1", "amdgpu", "0000:63:00.0", "1002:744C", 129);
    tree_card(&tree, "card5", "i915", "0000:73:00.0", "8086:56A5", 130);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kubelet_devices d = {0};
        if (cases[i].cdi)
            take_claim(cases[i].driver, cases[i].device, cases[i].cdi, &d);
        else
            take_plugin(cases[i].driver, cases[i].device, &d);
        kubelet_find_files(&tree.env, &d);
        if (found(&d) != cases[i].gpu)
            fail_msg("%s %s: GPU %d instead of %d", cases[i].device ? cases[i].device : "", cases[i].cdi ? cases[i].cdi : "",
                     found(&d), cases[i].gpu);
        kubelet_devices_done(&d);
    }
    tree_done(&tree);
}

static void an_answer_that_is_cut_is_refused(void **state)
{
    (void)state;
    AUTO_BUF struct buf out = BUF(1 << 12), devices = BUF(1 << 12);
    struct kubelet_devices d;
    pb_text(&devices, 1, "nvidia.com/gpu");
    answer(&out, 2, buf_view(&devices));
    for (size_t len = 0; len < out.len; len++)
        assert_int_equal(kubelet_take((struct str){out.at, len}, &d), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(devices_are_found_by_the_names_that_plugins_and_drivers_give_them),
        TEST(an_answer_that_is_cut_is_refused),
    };
    return RUN_TESTS(tests);
}
