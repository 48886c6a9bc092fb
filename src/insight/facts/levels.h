/* SPDX-License-Identifier: Apache-2.0
 * Readings weighed into levels that people use: cool or hot, quiet or loud, resting or at work. All thresholds of a judgement are
 * here; docs/why.md gives them to users. An absent reading never becomes a level; it stays unknown.
 */
#pragma once

#include "model/gpu.h"
#include "model/host.h"

/* Load in permille of the GPU's time */
enum { IDLE_MAX = 50, LIGHT_MAX = 200, STEADY_LEAST = 950, SHARE_LEAST = 50, VIDEO_LEAST = 200, AWAKE_MAX = 100 };
/* A process idles below the first and computes from the second on; with less memory than the third it holds none worth naming. */
enum { PROCESS_IDLE_MAX = 20, PROCESS_BUSY_LEAST = 50, PROCESS_HELD_LEAST_BYTES = 64 << 20 };
/* A whole run that did nothing: so long, with so much memory, and less than this on average. */
enum { HELD_IDLE_MS = 1800000, HELD_IDLE_BYTES = 512 << 20, HELD_IDLE_MEAN = 5 };
/* From here on a GPU is awake, and so are all lanes of its link; and the highest performance state in which it works. */
enum { LINK_LANES_LOAD = 50, WORKING_STATE_MAX = 2 };
/* Work that waits for the host's CPU, memory or disks for so much of the time; a fall of the load by so much. */
enum { PRESSURE_LEAST = 50, LOAD_FELL_LEAST = 100 };
/* Fans of idle cards turn at up to 41 % (the reference cooler of an RTX 2080 Ti); small fans at up to about 1300 turns a minute.
 * Fans that a GPU shares with the CPU are small and fast: laptops idle at up to 3000. */
enum {
    FAN_LOW_MAX = 420,
    FAN_RAISED_MAX = 600,
    FAN_FULL = 900,
    FAN_LOW_RPM_MAX = 1300,
    FAN_LOW_SHARED_RPM_MAX = 3000,
    FAN_RAISED_RPM_MAX = 3800
};
/* Heat in 1/1000 C. A GPU's own limit counts where it is known. */
enum {
    HEAT_COOL_BELOW = 50000,
    HEAT_WARM_FROM = 60000,
    HEAT_SUSPECT_FROM = 57000, /* of an idle card whose fan works against it */
    HEAT_HOT_FROM = 80000,
    HEAT_HOT_FROM_SHARED = 92000, /* processors throttle at 95 to 105, and run close to it by design */
    HEAT_HOT_MARGIN = 10000,      /* many fans aim at 10 to 15 below the limit: such a GPU is as hot as it was built to be */
    HEAT_HOT_LEAST = 80000,       /* cooler than this is not hot, however low the limit */
    HEAT_HOT_MARGIN_HIGH = 15000, /* below a limit so high that "hot" begins earlier */
    HEAT_HOT_LEAST_HIGH = 84000,
    HEAT_LIMIT_MARGIN = 5000,
    HEAT_LIMIT_MARGIN_SHARED = 2000, /* the firmware of a laptop lets it come as close as that in every game */
    FAN_NEEDED_FROM = 70000,         /* fans that rest on purpose start below this */
    MEMORY_HOT_FROM = 95000,         /* where the card gives no limit */
    HOTSPOT_FROM = 90000,
    HOTSPOT_GAP = 30000,
    HOTSPOT_AT_LIMIT = 105000, /* chips throttle at a hot spot of 105 to 115, however warm the rest is */
    CPU_HOT_FROM = 80000,
    CPU_WARM_FROM = 75000,
};
/* Small cards idle at a large part of their limit (a T4 at 32 W of 70 W), so a raised draw must also be one in watts. */
enum {
    POWER_RAISED_MW = 45000,
    POWER_RAISED_PERMILLE = 200,
    POWER_WORK_PERMILLE = 350,
    POWER_UNEXPLAINED_PERMILLE = 500,   /* of a GPU that does nothing; fixed clocks draw up to 82 W of 230 */
    POWER_OF_NO_WORK_PERMILLE = 170,    /* most, of a GPU that is said to be busy; waiting kernels on an H200 draw 122 of 700 W */
    POWER_OF_NO_TRAFFIC_PERMILLE = 250, /* the same, where its memory rests as well */
    POWER_CAP_PERMILLE = 970,
    POWER_GATED_MW = 10000
};
/* Hot although it draws less than this part of its limit: the heat does not get away. */
enum { UNUSUAL_POWER_PERMILLE = 600, UNUSUAL_HEAT_FROM = 83000, MEMORY_FULL_PERMILLE = 970 };

enum fan_level { FAN_UNKNOWN, FAN_NONE, FAN_OFF, FAN_LOW, FAN_RAISED, FAN_LOUD };
enum heat_level { HEAT_UNKNOWN, HEAT_COOL, HEAT_LUKEWARM, HEAT_WARM, HEAT_HOT, HEAT_LIMIT };
enum power_level { POWER_UNKNOWN, POWER_LOW, POWER_RAISED, POWER_WORK };

/* Degrees left before the GPU slows itself down; absent where it gives no limit. */
struct reading heat_margin(const struct gpu *gpu);
/* From which temperature on it is hot. */
int64_t heat_hot_from(const struct gpu *gpu);
/* Its memory is at its limit, the chip well below its own. */
bool memory_is_hotter(const struct gpu *gpu);
/* Thermal throttling of a cool GPU that does nothing: drivers leave the bit set at times, and it slows nothing. */
bool heat_bit_is_left(const struct gpu *gpu);
enum heat_level heat_level(const struct gpu *gpu);
enum fan_level fan_level(const struct gpu *gpu);
enum power_level power_level(const struct gpu *gpu);
/* It draws as much as at work and has nothing to do: many drivers average the power over a second or more, utilization over another
 * time. */
bool power_is_unexplained(const struct gpu *gpu);
/* Busy all the time at high clocks, and it draws as little as at rest: some kernel is there and hardly does anything. */
bool power_contradicts_load(const struct gpu *gpu);
/* Counters of the units that show nothing while the GPU draws what only work draws: they are of the time before. */
bool counters_lag(const struct gpu *gpu);
/* Busy all the time by the GPU's own word, while the engine time of every program on it stands still and the power is not that of
 * work: AMD GPUs say so after some ROCm programs. */
bool busy_without_engines(const struct gpu *gpu);
/* Draw against the limit; absent without one. */
struct reading power_share_permille(const struct gpu *gpu);
/* The busiest of the pipes that compute; 0 also where none is known. */
int64_t pipes_permille(const struct gpu *gpu);
/* Clocks are up although there may be nothing to do; *by_state: told by the performance state alone. */
bool clocks_are_high(const struct gpu *gpu, bool *by_state);
/* Utilization, else what the units inside or the processes add up to; *direct: not summed up. */
struct reading load_permille(const struct gpu *gpu, bool *direct);
/* It works, more than a display or a driver that counts itself would. */
bool load_is_work(struct reading permille);
bool load_has_fallen(struct reading before, struct reading after);
/* The process does nothing; one whose share is not known may work. */
bool process_is_idle(const struct process *p);
/* The work of the units, and the bandwidth that is used: those of the whole GPU, where no other process computes. */
struct reading process_work(const struct gpu *gpu, const struct process *p);
struct reading process_bandwidth(const struct gpu *gpu, const struct process *p);
bool util_is_idle(struct reading util_permille); /* false where it is not known */
/* A run of `ms` that took memory and did nothing with it; a display server's is no such thing. */
bool run_was_held_idle(enum process_type type, int64_t ms, struct reading mean_util_permille, struct reading peak_bytes);
bool pressure_is_felt(struct reading permille);
/* Warm enough to be a reason for what is found. */
bool cpu_is_warm(const struct host *host);
/* It hardly cools itself: the fan, or the heat, is shared with the CPU (laptops, processors with graphics). */
bool cooling_is_shared(const struct gpu *gpu);
/* In the words of drivers and libraries: the program has no right to read it. */
bool says_denied(const char *message);
/* It is there, and nothing is known to be wrong with it: it may not be read, by rights or by the devices that a job or container
 * has. */
bool gpu_is_denied(const struct gpu *gpu);
/* What is wrong with a GPU that still answers: it has lost memory for good, or its driver asks for a reset or a reboot. */
enum gpu_failure { FAILURE_NONE, FAILURE_MEMORY, FAILURE_RESET, FAILURE_REBOOT };
enum gpu_failure gpu_failure(const struct gpu *gpu);
/* So hot at so little power that the heat cannot be getting away. */
bool heat_is_unusual(const struct gpu *gpu);

/* ---- fans ----
 * What the readings of a fan say together. The one place that judges a fan: health, alerts, explanations and tables ask here.
 *
 * Turns (tachometer), asked-for turns, asked-for percent and percent are different scales, and each may be wrong on its own. A fan
 * that does not turn is the usual state of a cool card, so a fault needs all of: asked to turn in a scale of its own, a tachometer
 * that reads 0, and a card hotter than any fan may rest at. How long that must last is in findings.def. */

enum {
    FAN_NEEDED_FROM_MDEGC = 75000, /* zero-rpm modes end below this, unless the card says where */
};

enum fan_state {
    FAN_STATE_UNKNOWN, /* nothing that can be believed */
    FAN_STATE_NONE,    /* a passive card */
    FAN_STATE_TURNING,
    FAN_STATE_OFF,      /* rests: zero-rpm mode */
    FAN_STATE_FIRMWARE, /* reads 0, but the driver does not control it and may not see it: laptops */
    FAN_STATE_OFF_HOT,  /* reads 0 on a hot card, and no request for more is known */
    FAN_STATE_SLOW,     /* turns far slower than asked for, on a hot card */
    FAN_STATE_STOPPED,  /* asked to turn and stands still, on a hot card */
};

struct fan {
    enum fan_state state;
    char asked[24]; /* "60%" or "1800 rpm"; "" no request is known */
};

struct fan fan_judge(const struct gpu *gpu);
/* "unknown", "none", "turning", "off", "firmware", "off while hot", "slow", "stopped": the words of the API. */
const char *fan_state_name(enum fan_state state);
/* "automatic", "manual" or "firmware"; false, too, where the driver doesn't say. */
bool fan_controlled_by(const struct gpu *gpu, const char *who);
