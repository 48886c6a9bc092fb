/* SPDX-License-Identifier: Apache-2.0
 * Recordings from strangers. An even first byte: the rest is a file as it is. An odd one: frames with right checksums around it,
 * behind a whole snapshot, so that the decoder itself is reached. What is read can be written and read again.
 */
#include <stdlib.h>

#include "base/cleanup.h"
#include "source/replay/codec.h"
#include "source/replay/reader.h"
#include "source/sim/sim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static struct snapshot *sample(void)
{
    struct clock_manual clock;
    clock_manual_init(&clock, (struct wall){1800000000000});
    struct env env = {.sysroot = "", .clock = &clock.clock};
    struct source *sim;
    require(sim_source.open(&env, "scenario=mig,gpus=2", &sim, NULL) == 0);
    struct snapshot *s = snapshot_new(2);
    for (size_t i = 0; i < 2; i++)
        sim_source.sample(sim, i, GROUP_ALL, &s->gpus[i]);
    sim_source.close(sim);
    return s;
}

/* Magic, schema and a whole snapshot. */
static const struct buf *beginning(void)
{
    static struct buf file = BUF(1 << 20);
    if (file.len)
        return &file;
    AUTO_BUF struct buf schema = BUF(1 << 16), key = BUF(1 << 20);
    struct snapshot *s = sample();
    schema_write(&schema);
    snapshot_encode(&key, s, NULL);
    buf_text(&file, RECORDING_MAGIC);
    frame_build(&file, FRAME_SCHEMA, buf_view(&schema));
    frame_build(&file, FRAME_KEY, buf_view(&key));
    snapshot_unref(s);
    return &file;
}

static void write_again(const struct snapshot *s)
{
    static struct recorded_columns schema;
    if (!schema.metrics.count) {
        AUTO_BUF struct buf names = BUF(1 << 16);
        schema_write(&names);
        require(schema_read((const unsigned char *)names.at, names.len, &schema) == 0);
    }
    AUTO_BUF struct buf bytes = BUF(FRAME_MAX);
    struct snapshot *again = NULL;
    snapshot_encode(&bytes, (struct snapshot *)s, NULL);
    require(!bytes.failed);
    require(snapshot_decode((const unsigned char *)bytes.at, bytes.len, &schema, NULL, &again) == 0);
    require(again->gpu_count == s->gpu_count);
    snapshot_unref(again);
}

static void read_all(const void *bytes, size_t len)
{
    struct replay_reader *r;
    const struct snapshot *s;
    if (replay_reader_open_memory(bytes, len, &r, NULL) < 0)
        return;
    for (int n = 0; n < 32 && replay_reader_next(r, &s, NULL) == 1; n++) {
        write_again(s);
        snapshot_unref(s);
    }
    replay_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    if (data[0] % 2 == 0) {
        read_all(data + 1, size - 1);
        return 0;
    }
    AUTO_BUF struct buf file = BUF(2 << 20);
    buf_str(&file, buf_view(beginning()));
    static const enum frame_type types[] = {FRAME_DELTA, FRAME_KEY, FRAME_SCHEMA, FRAME_DELTA};
    const uint8_t *at = data + 1, *end = data + size;
    while (end - at > 2) {
        size_t len = MIN_OF((size_t)at[1] | (size_t)(at[0] & 0x3f) << 8, (size_t)(end - at - 2));
        frame_build(&file, types[at[0] >> 6], (struct str){(const char *)at + 2, len});
        at += 2 + len;
    }
    read_all(file.at, file.len);
    return 0;
}
