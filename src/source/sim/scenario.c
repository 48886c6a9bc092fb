/* SPDX-License-Identifier: Apache-2.0
 * The scenarios, as tables: which programs run when and where, and what goes wrong. A new one is some rows here.
 */
#include "base/cleanup.h"
#include "model/finding_code.h"
#include "source/sim/sim_job.h"

/* clang-format off */
#define PROGRAM static const struct sim_program
enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };

PROGRAM xorg = {"Xorg", "root", "/usr/lib/xorg/Xorg :0 -nolisten tcp vt1", "", "", PROCESS_GRAPHICS, 30, 180};
PROGRAM shell = {"gnome-shell", "alice", "/usr/bin/gnome-shell", "", "", PROCESS_GRAPHICS, 60, 420};
PROGRAM browser = {"firefox", "alice", "/usr/lib/firefox/firefox -contentproc", "", "", PROCESS_GRAPHICS, 350, 1900};
PROGRAM editor = {"code", "alice", "/usr/share/code/code --type=gpu-process", "", "", PROCESS_GRAPHICS, 40, 380};
PROGRAM game = {"Starfall.exe", "alice", "Z:\\steamapps\\common\\Starfall\\Starfall.exe -fullscreen", "", "", PROCESS_BOTH,
                4200, 9800};
PROGRAM ollama = {"ollama", "ollama", "/usr/local/bin/ollama runner --model /usr/share/ollama/llama3.1-8b-q4.gguf --port 41337",
                  "", "llama3.1-8b-q4", PROCESS_COMPUTE, 600, 5200};
PROGRAM vllm = {"python3", "svc-llm",
                "python3 -m vllm.entrypoints.openai.api_server --model mistralai/Mistral-7B-Instruct-v0.3 --api-key ***",
                "vllm-prod", "mistralai/Mistral-7B-Instruct-v0.3", PROCESS_COMPUTE, 1600, 14200};
PROGRAM train = {"python3", "alice", "python3 train.py --model meta-llama/Llama-3.1-8B --batch-size 8 --bf16", "train-llama",
                 "meta-llama/Llama-3.1-8B", PROCESS_COMPUTE, 1150, 21000, "torchrun"};
PROGRAM ranks = {"python3", "alice", "python3 train.py --model meta-llama/Llama-3.1-70B --bf16", "", "meta-llama/Llama-3.1-70B",
                 PROCESS_COMPUTE, 1010, 24000, "torchrun", "4711"};
PROGRAM finetune = {"python3", "bob", "python3 finetune.py --config configs/lora.yaml", "", "", PROCESS_COMPUTE, 1020, 9000};
PROGRAM simulate = {"gmx", "carol", "gmx mdrun -deffnm npt -nb gpu -pme gpu", "", "", PROCESS_COMPUTE, 7800, 2600};
PROGRAM notebook = {"python3", "dave", "python3 -m ipykernel_launcher -f /home/dave/.local/share/jupyter/runtime/kernel.json",
                    "", "", PROCESS_COMPUTE, 4, 3100};
PROGRAM comfy = {"python3", "bob", "python3 main.py --listen 127.0.0.1 --port 8188 /models/sd_xl_base_1.0.safetensors",
                 "comfyui", "sd_xl_base_1.0.safetensors", PROCESS_COMPUTE, 900, 7400};
PROGRAM ffmpeg = {"ffmpeg", "media", "ffmpeg -hwaccel cuda -i input.mkv -c:v hevc_nvenc -b:v 8M output.mkv", "", "",
                  PROCESS_COMPUTE, 1800, 900};
PROGRAM player = {"mpv", "alice", "mpv --hwdec=auto film.mkv", "", "", PROCESS_GRAPHICS, 90, 350};
PROGRAM miner = {"kworkerds", "www-data", "/tmp/.x/kworkerds -a kawpow -o stratum+tcp://pool.example:4444 -p ***", "", "",
                 PROCESS_COMPUTE, 900, 400};
PROGRAM blender = {"blender", "erin", "blender -b scene.blend -E CYCLES -a", "", "", PROCESS_BOTH, 3100, 6100};
PROGRAM server = {"python3", "svc-embed", "python3 server.py --model BAAI/bge-large-en --workers 1", "embeddings",
                  "BAAI/bge-large-en", PROCESS_COMPUTE, 700, 4300};

/* Rows shared by several scenarios. */
#define DESKTOP_XORG \
    {.cause = "desktop", .where = ON_GPU(0), .when = {-2 * DAY}, .program = &xorg, .pattern = LOAD_DESKTOP, .util = 0.02, \
     .mem_util = 0.01, .power = 0.5, .vram_mib = 260}
#define DESKTOP_SHELL \
    {.cause = "desktop", .where = ON_GPU(0), .when = {-2 * DAY}, .program = &shell, .pattern = LOAD_DESKTOP, .util = 0.03, \
     .mem_util = 0.02, .power = 0.5, .vram_mib = 340}
#define FULL_TRAINING \
    .cause = "training", .program = &train, .pattern = LOAD_TRAINING, .util = 0.98, .mem_util = 0.55, .power = 1.06, \
    .tensor = 0.62, .vram_share = 0.82, .load_s = 25

static const struct sim_job training_jobs[] = {
    {.where = ON_ALL, FULL_TRAINING},
};

static const struct sim_job inference_jobs[] = {
    {.cause = "inference", .where = ON_ALL, .program = &vllm, .pattern = LOAD_INFERENCE, .util = 0.9, .mem_util = 0.7,
     .power = 0.72, .tensor = 0.25, .vram_share = 0.86, .load_s = 30},
};

static const struct sim_job game_jobs[] = {
    DESKTOP_XORG,
    DESKTOP_SHELL,
    {.cause = "inference", .where = ON_ALL, .when = {-5 * HOUR}, .program = &ollama, .pattern = LOAD_PARKED, .vram_mib = 5600},
    {.cause = "game", .where = ON_GPU(0), .when = {10, 10 + 10 * MINUTE, 15 * MINUTE}, .program = &game, .pattern = LOAD_GAME,
     .util = 0.98, .mem_util = 0.5, .power = 0.9, .vram_share = 0.4, .vram_wobble = 0.02, .load_s = 8},
};

static const struct sim_job leak_jobs[] = {
    DESKTOP_XORG,
    {.cause = "leak", .where = ON_ALL, .program = &server, .pattern = LOAD_INFERENCE, .util = 0.45, .mem_util = 0.3,
     .power = 0.6, .tensor = 0.2, .vram_share = 0.12, .vram_wobble = 0.012, .load_s = 10, .leak_share_per_min = 0.06},
};

static const struct sim_job slow_leak_jobs[] = {
    DESKTOP_XORG,
    {.cause = "leak", .where = ON_ALL, .program = &server, .pattern = LOAD_INFERENCE, .util = 0.45, .mem_util = 0.3,
     .power = 0.6, .tensor = 0.2, .vram_share = 0.4, .vram_wobble = 0.03, .load_s = 20, .leak_share_per_min = 0.012},
};

/* The leak continues while others come and go. */
static const struct sim_job leak_beside_jobs[] = {
    {.cause = "leak", .where = ON_ALL, .program = &server, .pattern = LOAD_INFERENCE, .util = 0.3, .mem_util = 0.2,
     .power = 0.6, .tensor = 0.2, .vram_share = 0.15, .vram_wobble = 0.008, .load_s = 10, .leak_share_per_min = 0.03},
    {.cause = "image generation", .where = ON_ALL, .when = {100, 180, 240}, .program = &comfy, .pattern = LOAD_STEADY,
     .util = 0.6, .mem_util = 0.3, .power = 0.9, .tensor = 0.4, .vram_share = 0.06, .load_s = 12},
};

static const struct sim_job saw_jobs[] = {
    {.cause = "inference", .where = ON_ALL, .program = &vllm, .pattern = LOAD_INFERENCE, .util = 0.7, .mem_util = 0.5,
     .power = 0.72, .tensor = 0.25, .vram_share = 0.3, .vram_saw = 0.35, .vram_saw_s = 120, .load_s = 20},
};

static const struct sim_job leaky_saw_jobs[] = {
    {.cause = "leak", .where = ON_ALL, .program = &server, .pattern = LOAD_INFERENCE, .util = 0.5, .mem_util = 0.3,
     .power = 0.7, .tensor = 0.25, .vram_share = 0.2, .vram_saw = 0.2, .vram_saw_s = 80, .load_s = 15,
     .leak_share_per_min = 0.025},
};

static const struct sim_job swap_jobs[] = {
    {.cause = "inference", .where = ON_ALL, .when = {20, 160, 300}, .program = &ollama, .pattern = LOAD_INFERENCE, .util = 0.7,
     .mem_util = 0.6, .power = 0.75, .tensor = 0.2, .vram_share = 0.35, .load_s = 12},
    {.cause = "inference", .where = ON_ALL, .when = {120, 280, 420}, .program = &vllm, .pattern = LOAD_INFERENCE, .util = 0.6,
     .mem_util = 0.5, .power = 0.72, .tensor = 0.2, .vram_share = 0.45, .load_s = 40},
    {.cause = "image generation", .where = ON_ALL, .when = {60, 110, 170}, .program = &comfy, .pattern = LOAD_BURSTS,
     .util = 0.9, .mem_util = 0.5, .power = 0.95, .tensor = 0.4, .vram_share = 0.15, .load_s = 6},
};

static const struct sim_job overheat_jobs[] = {
    {.where = ON_ALL, FULL_TRAINING},
};
static const struct sim_condition overheat_conditions[] = {
    {.kind = TROUBLE_AIRFLOW, .where = ON_GPU(0), .when = {2 * MINUTE}, .value = 0.35},
    {.kind = TROUBLE_ROOM, .where = ON_GPU(0), .when = {2 * MINUTE}, .value = 8},
};

static const struct sim_job lost_jobs[] = {
    {.where = ON_ALL, FULL_TRAINING},
};
static const struct sim_condition lost_conditions[] = {
    {.kind = TROUBLE_LOST, .where = ON_GPU(0), .when = {MINUTE, 1.5 * MINUTE, MINUTE}},
    {.kind = TROUBLE_XID, .where = ON_GPU(0), .when = {MINUTE, MINUTE + 1, MINUTE}, .value = 79},
};

static const struct sim_job mixed_jobs[] = {
    DESKTOP_XORG,
    DESKTOP_SHELL,
    {.cause = "inference", .where = ON_EACH(4, 0), .program = &ollama, .pattern = LOAD_INFERENCE, .util = 0.7, .mem_util = 0.6,
     .power = 0.75, .tensor = 0.2, .vram_mib = 5600, .load_s = 6},
    {.where = ON_EACH(4, 1), FULL_TRAINING},
    {.cause = "image generation", .where = ON_EACH(4, 2), .program = &comfy, .pattern = LOAD_BURSTS, .util = 0.97,
     .mem_util = 0.5, .power = 0.95, .tensor = 0.4, .vram_mib = 7200, .load_s = 15},
    {.cause = "video playback", .where = ON_EACH(4, 3), .program = &player, .pattern = LOAD_STEADY, .util = 0.06,
     .mem_util = 0.04, .power = 0.5, .decode = 0.3, .vram_mib = 310},
};

static const struct sim_job asleep_jobs[] = {
    {.cause = "browser", .where = ON_ALL, .when = {4 * MINUTE, 5 * MINUTE, 5 * MINUTE}, .program = &browser,
     .pattern = LOAD_DESKTOP, .util = 0.15, .mem_util = 0.08, .power = 0.5, .vram_mib = 420},
};
static const struct sim_condition asleep_conditions[] = {
    {.kind = TROUBLE_ASLEEP, .where = ON_ALL, .when = {0, 4 * MINUTE, 5 * MINUTE}},
};

static const struct sim_job miner_jobs[] = {
    DESKTOP_XORG,
    {.cause = "miner", .where = ON_ALL, .when = {30}, .program = &miner, .pattern = LOAD_STEADY, .util = 0.99, .mem_util = 0.93,
     .power = 0.78, .vram_mib = 5100, .load_s = 5},
};

static const struct sim_job encode_jobs[] = {
    {.cause = "video encoding", .where = ON_ALL, .program = &ffmpeg, .pattern = LOAD_STEADY, .util = 0.14, .mem_util = 0.1,
     .power = 0.6, .encode = 0.88, .decode = 0.46, .vram_mib = 780, .load_s = 2},
};

static const struct sim_condition hot_idle_conditions[] = {
    {.kind = TROUBLE_AIRFLOW, .where = ON_ALL, .value = 0.11},
    {.kind = TROUBLE_ROOM, .where = ON_ALL, .value = 20},
};

static const struct sim_job held_jobs[] = {
    DESKTOP_XORG,
    {.cause = "held context", .where = ON_ALL, .when = {-26 * HOUR}, .program = &notebook, .pattern = LOAD_HELD,
     .vram_share = 0.74},
};

static const struct sim_job users_jobs[] = {
    {.where = ON_EACH(4, 0), FULL_TRAINING},
    {.cause = "fine-tuning", .where = ON_EACH(4, 1), .program = &finetune, .pattern = LOAD_TRAINING, .util = 0.88,
     .mem_util = 0.45, .power = 0.9, .tensor = 0.4, .vram_share = 0.4, .load_s = 15},
    {.cause = "molecular dynamics", .where = ON_EACH(4, 1), .program = &simulate, .pattern = LOAD_STEADY, .util = 0.35,
     .mem_util = 0.2, .power = 0.7, .vram_mib = 900},
    {.cause = "molecular dynamics", .where = ON_EACH(4, 2), .program = &simulate, .pattern = LOAD_STEADY, .util = 0.78,
     .mem_util = 0.32, .power = 0.8, .vram_mib = 1400},
    {.cause = "held context", .where = ON_EACH(4, 3), .when = {-26 * HOUR}, .program = &notebook, .pattern = LOAD_HELD,
     .vram_share = 0.3},
    {.cause = "held context", .where = ON_EACH(4, 2), .when = {-26 * HOUR}, .program = &notebook, .pattern = LOAD_HELD,
     .vram_share = 0.2},
};

static const struct sim_job reserved_jobs[] = {
    {.where = ON_ALL, FULL_TRAINING},
    {.cause = "fine-tuning", .where = ON_GPU(0), .program = &finetune, .pattern = LOAD_TRAINING, .util = 0.3, .mem_util = 0.2, .power = 0.3,
     .tensor = 0.1, .vram_mib = 3000, .load_s = 15},
};

static const struct sim_job mig_jobs[] = {
    {.cause = "inference", .where = ON_ALL, .program = &vllm, .pattern = LOAD_INFERENCE, .util = 0.4, .mem_util = 0.3,
     .power = 0.72, .tensor = 0.2, .vram_share = 0.42, .load_s = 30, .instance = 1},
    {.cause = "fine-tuning", .where = ON_ALL, .program = &finetune, .pattern = LOAD_TRAINING, .util = 0.26, .mem_util = 0.14,
     .power = 1, .tensor = 0.4, .vram_share = 0.17, .load_s = 15, .instance = 2},
    {.cause = "held context", .where = ON_ALL, .when = {-26 * HOUR}, .program = &notebook, .pattern = LOAD_HELD,
     .vram_share = 0.05, .instance = 3},
};
static const struct sim_condition mig_conditions[] = {{.kind = TROUBLE_MIG, .where = ON_ALL}};

static const struct sim_job bursty_jobs[] = {
    {.cause = "image generation", .where = ON_ALL, .program = &comfy, .pattern = LOAD_BURSTS, .util = 0.98, .mem_util = 0.5,
     .power = 0.95, .tensor = 0.4, .vram_share = 0.35, .load_s = 15},
};

static const struct sim_condition fan_conditions[] = {
    {.kind = TROUBLE_FAN_STOPPED, .where = ON_GPU(0), .when = {2 * MINUTE}},
};

static const struct sim_condition cap_conditions[] = {
    {.kind = TROUBLE_POWER_LIMIT, .where = ON_ALL, .value = 0.55},
};

static const struct sim_job desktop_jobs[] = {
    DESKTOP_XORG,
    DESKTOP_SHELL,
    {.cause = "browser", .where = ON_GPU(0), .when = {-3 * HOUR}, .program = &browser, .pattern = LOAD_DESKTOP, .util = 0.06,
     .mem_util = 0.04, .power = 0.5, .decode = 0.12, .vram_mib = 710, .vram_wobble = 0.01},
    {.cause = "editor", .where = ON_GPU(0), .when = {-3 * HOUR}, .program = &editor, .pattern = LOAD_DESKTOP, .util = 0.01,
     .mem_util = 0.01, .power = 0.5, .vram_mib = 190},
    {.cause = "inference", .where = ON_ALL, .when = {-5 * HOUR}, .program = &ollama, .pattern = LOAD_PARKED, .vram_mib = 5600},
    {.cause = "inference", .where = ON_ALL, .when = {3 * MINUTE, 4 * MINUTE, 5 * MINUTE}, .program = &server,
     .pattern = LOAD_INFERENCE, .util = 0.85, .mem_util = 0.6, .power = 0.75, .tensor = 0.2, .vram_mib = 2400, .load_s = 3},
};

/* Ten hours from 20:00, which is scenario time 0. */
static const struct sim_job night_jobs[] = {
    {.cause = "inference", .where = ON_EACH(4, 0), .when = {-DAY}, .program = &vllm, .pattern = LOAD_INFERENCE, .util = 0.55,
     .mem_util = 0.4, .power = 0.72, .tensor = 0.2, .vram_share = 0.5, .load_s = 30},
    {.where = ON_EACH(4, 1), .when = {20 * MINUTE, 6 * HOUR + 40 * MINUTE, 10 * HOUR}, FULL_TRAINING},
    {.cause = "rendering", .where = ON_EACH(4, 2), .when = {45 * MINUTE, 2 * HOUR + 10 * MINUTE, 10 * HOUR},
     .program = &blender, .pattern = LOAD_STEADY, .util = 0.99, .mem_util = 0.35, .power = 0.93, .vram_share = 0.3,
     .load_s = 20},
    {.cause = "fine-tuning", .where = ON_EACH(4, 2), .when = {3 * HOUR, 7 * HOUR + 20 * MINUTE, 10 * HOUR},
     .program = &finetune, .pattern = LOAD_TRAINING, .util = 0.9, .mem_util = 0.45, .power = 0.95, .tensor = 0.4,
     .vram_share = 0.45, .load_s = 15},
    {.cause = "molecular dynamics", .where = ON_EACH(4, 3), .when = {2 * HOUR, 9 * HOUR, 10 * HOUR}, .program = &simulate,
     .pattern = LOAD_STEADY, .util = 0.78, .mem_util = 0.32, .power = 0.8, .vram_mib = 1400},
    {.cause = "miner", .where = ON_EACH(4, 0), .when = {5 * HOUR, 6 * HOUR + 30 * MINUTE, 10 * HOUR}, .program = &miner,
     .pattern = LOAD_STEADY, .util = 0.9, .mem_util = 0.7, .power = 0.78, .vram_mib = 5100, .load_s = 5},
    {.cause = "video encoding", .where = ON_EACH(4, 3), .when = {15 * MINUTE, 35 * MINUTE, 2 * HOUR}, .program = &ffmpeg,
     .pattern = LOAD_STEADY, .util = 0.14, .mem_util = 0.1, .power = 0.6, .encode = 0.88, .decode = 0.46, .vram_mib = 780},
    {.cause = "held context", .where = ON_EACH(4, 1), .when = {HOUR, 9.5 * HOUR, 10 * HOUR}, .program = &notebook,
     .pattern = LOAD_HELD, .vram_share = 0.08},
};
static const struct sim_condition night_conditions[] = {
    {.kind = TROUBLE_ROOM, .where = ON_ALL, .when = {4 * HOUR, 5 * HOUR, 10 * HOUR},
     .value = 9}, /* the cooling is being serviced */
};

static const struct sim_job ecc_jobs[] = {
    {.where = ON_ALL, FULL_TRAINING},
};
static const struct sim_condition ecc_conditions[] = {
    {.kind = TROUBLE_ECC, .where = ON_GPU(0), .when = {30}},
    {.kind = TROUBLE_XID, .where = ON_GPU(0), .when = {30, 31}, .value = 48},
};

/* Sixteen small servers on every GPU: the cost of many processes. */
#define SMALL_SERVER \
    {.cause = "inference", .where = ON_ALL, .program = &server, .pattern = LOAD_INFERENCE, .util = 0.05, .mem_util = 0.03, \
     .power = 0.05, .tensor = 0.02, .vram_share = 0.05, .load_s = 5}
#define FOUR_SERVERS SMALL_SERVER, SMALL_SERVER, SMALL_SERVER, SMALL_SERVER
static const struct sim_job crowd_jobs[] = {FOUR_SERVERS, FOUR_SERVERS, FOUR_SERVERS, FOUR_SERVERS};

static const struct sim_condition link_conditions[] = {{.kind = TROUBLE_LINK, .where = ON_GPU(0), .value = 4}};

#define READINGS(table) .readings = (table), .reading_count = ARRAY_LEN(table)

static const struct sim_condition error_conditions[] = {{.kind = TROUBLE_ERROR, .where = ON_GPU(0)}};
static const struct sim_condition xid_conditions[] = {
    {.kind = TROUBLE_XID, .where = ON_GPU(0), .when = {40, 41}, .value = 119},
};
static const struct sim_reading reset_readings[] = {{METRIC_recovery_action, 1}};
static const struct sim_reading repair_readings[] = {{METRIC_channel_repair_pending, 1}};
static const struct sim_reading remap_readings[] = {{METRIC_remapped_rows_uncorrected, 1}, {METRIC_remapped_rows_pending, 1}};
static const struct sim_reading pages_readings[] = {{METRIC_retired_pages_dbe, 1}, {METRIC_retired_pages_pending, 1}};
static const struct sim_reading brake_readings[] = {
    {METRIC_throttle_bits, THROTTLE_HW_SLOWDOWN | THROTTLE_POWER_BRAKE},
    {METRIC_clock_graphics_khz, 645000},
    {METRIC_power_mw, 240000},
    {METRIC_temp_mdegc, 52000},
};
static const struct sim_reading slow_fan_readings[] = {
    {METRIC_fan_permille, 250}, {METRIC_fan_rpm, 800}, {METRIC_fan_target_permille, 850}, {METRIC_temp_mdegc, 79000},
};
static const struct sim_reading fixed_fan_readings[] = {
    {METRIC_fan_permille, 300}, {METRIC_fan_rpm, 950}, {METRIC_fan_target_permille, 300}, {METRIC_temp_mdegc, 86000},
};
static const struct sim_reading fast_fan_readings[] = {
    {METRIC_fan_permille, 550}, {METRIC_fan_rpm, 1700}, {METRIC_fan_target_permille, 550},
};
static const struct sim_reading loud_readings[] = {
    {METRIC_fan_permille, 960}, {METRIC_fan_rpm, 2900}, {METRIC_fan_target_permille, 960}, {METRIC_temp_mdegc, 77000},
};
static const struct sim_reading hot_readings[] = {{METRIC_temp_mdegc, 83000}, {METRIC_temp_margin_mdegc, 6000}};
static const struct sim_reading hot_memory_readings[] = {{METRIC_temp_memory_mdegc, 97000}};
static const struct sim_reading hotspot_readings[] = {{METRIC_temp_hotspot_mdegc, 109000}, {METRIC_temp_mdegc, 66000}};
static const struct sim_reading full_readings[] = {{METRIC_mem_used_bytes, INT64_C(24200) << 20}};
static const struct sim_reading unowned_readings[] = {{METRIC_mem_used_bytes, INT64_C(21000) << 20}};
static const struct sim_reading spill_readings[] = {
    {METRIC_mem_used_bytes, INT64_C(24100) << 20}, {METRIC_gtt_used_bytes, INT64_C(6100) << 20},
};
static const struct sim_reading replay_readings[] = {{METRIC_pcie_replays, 1000, 40}};
static const struct sim_reading nvlink_readings[] = {{METRIC_nvlink_links_active, 12}};
static const struct sim_reading low_clock_readings[] = {
    {METRIC_clock_graphics_khz, 210000}, {METRIC_pstate, 8}, {METRIC_power_mw, 38000}, {METRIC_throttle_bits, 0},
    {METRIC_temp_mdegc, 42000},
};
static const struct sim_reading unexplained_readings[] = {{METRIC_power_mw, 380000}};
static const struct sim_reading waiting_readings[] = {
    {METRIC_sm_active_permille, 8}, {METRIC_dram_active_permille, 0}, {METRIC_tensor_active_permille, 0},
    {METRIC_power_mw, 122000},      {METRIC_throttle_bits, 0},        {METRIC_temp_mdegc, 41000},
};

/* Ranks of one job: seven wait in a collective for the one on GPU 0. */
static const struct sim_job rank_jobs[] = {
    {.cause = "training", .where = ON_ALL, .program = &ranks, .pattern = LOAD_STEADY, .util = 1.0, .mem_util = 0.4, .power = 1.0, .tensor = 0.5,
     .vram_share = 0.76, .load_s = 20},
};
static const struct sim_reading late_readings[] = {
    {METRIC_util_permille, 190}, {METRIC_graphics_active_permille, 180}, {METRIC_sm_active_permille, 180}, {METRIC_tensor_active_permille, 0},
    {METRIC_dram_active_permille, 5}, {METRIC_power_mw, 216000}, {METRIC_throttle_bits, 0}, {METRIC_temp_mdegc, 44000},
};
static const struct sim_reading stopped_readings[] = {
    {METRIC_util_permille, 0}, {METRIC_graphics_active_permille, 0}, {METRIC_sm_active_permille, 0}, {METRIC_tensor_active_permille, 0},
    {METRIC_dram_active_permille, 0}, {METRIC_power_mw, 118000}, {METRIC_throttle_bits, 0}, {METRIC_temp_mdegc, 40000},
};
static const struct sim_evidence python_evidence[] = {
    {EVIDENCE_main_running_permille, 1000}, {EVIDENCE_main_cpu_permille, 1000}, {EVIDENCE_busiest_thread_permille, 1000},
    {EVIDENCE_cpu_permille, 1010},
};
static const struct sim_evidence stopped_evidence[] = {{EVIDENCE_stopped, 1}, {EVIDENCE_main_cpu_permille, 0}};
#define OTHERS(table) .others = (table), .other_count = ARRAY_LEN(table)
#define EVIDENCE_OF(table) .evidence = (table), .evidence_count = ARRAY_LEN(table)
static const struct sim_reading warmed_readings[] = {{METRIC_temp_mdegc, 61000}};
static const struct sim_job neighbour_jobs[] = {
    {.where = ON_GPU(1), FULL_TRAINING},
};

#define JOBS(table) .jobs = (table), .job_count = ARRAY_LEN(table)
#define CONDITIONS(table) .conditions = (table), .condition_count = ARRAY_LEN(table)

/* A program that keeps its GPU busy for this share of time; memory bandwidth, power. */
#define LIMITED(busy, bandwidth, watts) \
    .jobs = (const struct sim_job[]){{.cause = "training", .where = ON_ALL, .program = &train, .pattern = LOAD_STEADY, .util = (busy), \
                                      .mem_util = (bandwidth), .power = (watts), .vram_mib = 20000, .load_s = 5}}, \
    .job_count = 1
#define SHOWS(...) \
    .readings = (const struct sim_reading[]){__VA_ARGS__}, \
    .reading_count = sizeof((const struct sim_reading[]){__VA_ARGS__}) / sizeof(struct sim_reading)
#define DOES(...) \
    .evidence = (const struct sim_evidence[]){__VA_ARGS__}, \
    .evidence_count = sizeof((const struct sim_evidence[]){__VA_ARGS__}) / sizeof(struct sim_evidence)

/* A vLLM server at this level of load, and its metrics. */
#define SERVES(pattern_, busy, ...) \
    .jobs = (const struct sim_job[]){{.cause = "inference", .where = ON_ALL, .program = &vllm, .pattern = (pattern_), .util = (busy), \
                                      .mem_util = 0.7, .power = 0.72, .tensor = 0.25, .vram_share = 0.86, .load_s = 30, \
                                      .serving = &(const struct sim_serving){__VA_ARGS__}}}, \
    .job_count = 1

static const struct sim_scenario scenarios[] = {
    {"mixed", "GPUs of three vendors doing different things", "steady from the start", 4, "mixed", 10 * MINUTE + 25,
     JOBS(mixed_jobs), .finding = FINDING_COMPUTE_LOAD},
    {"idle", "nothing runs", "steady from the start", 1, "rtx4090", 10 * MINUTE, .finding = FINDING_NOTHING_UNUSUAL},
    {"training", "a language model is trained on every GPU", "25 s loading, then full load with a checkpoint every 10 minutes",
     4, "h100", 5 * MINUTE, JOBS(training_jobs), .finding = FINDING_COMPUTE_LOAD},
    {"inference", "a server answers requests, now more, now fewer", "30 s loading, then load up and down", 1, "rtx4090",
     5 * MINUTE, JOBS(inference_jobs), .finding = FINDING_COMPUTE_LOAD},
    {"game-start", "a game starts on a desktop that holds a language model",
     "game from 10 s on for 10 minutes; again every 15 minutes", 1, "rtx4090", 0, JOBS(game_jobs), .finding = FINDING_GRAPHICS_LOAD},
    {"vram-leak", "a server loses memory until the GPU is full", "full after about 22 minutes (other seeds: from 14), then it dies and starts again",
     1, "rtx4090", 2 * MINUTE, JOBS(leak_jobs), .finding = FINDING_VRAM_FULL_SOON, .shows_after_s = 10 * MINUTE},
    {"slow-leak", "a server loses memory slowly, under a noisy load", "full after about 45 minutes", 1, "rtx4090", 2 * MINUTE,
     JOBS(slow_leak_jobs), .finding = FINDING_VRAM_FULL_SOON, .shows_after_s = 15 * MINUTE},
    {"leak-beside", "a server loses memory while other programs come and go", "full after about 20 minutes", 1, "rtx4090",
     2 * MINUTE, JOBS(leak_beside_jobs), .finding = FINDING_VRAM_FULL_SOON, .shows_after_s = 10 * MINUTE},
    {"vram-sawtooth", "memory is gained bit by bit and freed at once, repeatedly: no leak",
     "a tooth about every 2 minutes", 1, "rtx4090", 3 * MINUTE, JOBS(saw_jobs), .finding = FINDING_COMPUTE_LOAD},
    {"leaky-sawtooth", "the same with a leak: each tooth ends higher", "a tooth every 80 s, full after some 20 minutes", 1,
     "rtx4090", 2 * MINUTE, JOBS(leaky_saw_jobs), .finding = FINDING_VRAM_FULL_SOON, .shows_after_s = 10 * MINUTE},
    {"model-swap", "models are loaded and unloaded all the time", "steady from the start", 1, "rtx4090", 0, JOBS(swap_jobs), .finding = FINDING_COMPUTE_LOAD},
    {"overheat", "full load while the air stops flowing: GPU 0 throttles", "training from 0 s, air gone at 2 minutes",
     1, "rtx4090", 10 * MINUTE, JOBS(overheat_jobs), CONDITIONS(overheat_conditions), .finding = FINDING_HEAT_LIMIT},
    {"gpu-lost", "GPU 0 falls off the bus and comes back", "lost for 30 s of every minute", 2, "h100", 2 * MINUTE,
     JOBS(lost_jobs), CONDITIONS(lost_conditions), .finding = FINDING_LOST},
    {"asleep", "a laptop's GPU that sleeps most of the time", "asleep for 4 minutes, awake for a browser for 1", 1, "rtx3060",
     0, JOBS(asleep_jobs), CONDITIONS(asleep_conditions), .finding = FINDING_ASLEEP},
    {"crypto-miner", "a miner runs as www-data", "from 30 s on", 1, "rtx4090", 10 * MINUTE, JOBS(miner_jobs), .finding = FINDING_MINING},
    {"video-encode", "a film is converted by the video engines", "steady from the start", 1, "rtx4090", 5 * MINUTE,
     JOBS(encode_jobs), .finding = FINDING_VIDEO_LOAD},
    {"hot-idle", "nothing runs, but bad airflow keeps the GPU hot and the fan busy", "steady from the start", 1, "rtx4090",
     20 * MINUTE, .conditions = hot_idle_conditions, .condition_count = ARRAY_LEN(hot_idle_conditions), .finding = FINDING_AIRFLOW},
    {"held-context", "a forgotten notebook holds most of the memory and keeps the clocks up", "steady from the start", 1,
     "rtx4090", 10 * MINUTE, JOBS(held_jobs), .finding = FINDING_CONTEXT_HELD},
    {"reserved", "two GPUs are reserved for alice, and bob uses one of them all the same", "steady from the start", 2, "a100", 10 * MINUTE,
     JOBS(reserved_jobs), .reserved_for = "alice", .finding = FINDING_LEASE_IGNORED},
    {"multi-user", "four people share a server", "steady from the start", 4, "a100", 10 * MINUTE, JOBS(users_jobs), .finding = FINDING_COMPUTE_LOAD},
    {"mig", "a GPU divided into instances", "steady from the start", 1, "h100", 5 * MINUTE, JOBS(mig_jobs),
     CONDITIONS(mig_conditions), .finding = FINDING_INSTANCE_LOAD},
    {"bursty", "images are generated, with pauses", "full load and none, about half a minute each", 1, "rtx4090", 5 * MINUTE,
     JOBS(bursty_jobs), .finding = FINDING_COMPUTE_LOAD},
    {"fan-stopped", "the fan of GPU 0 has stopped under load", "training from 0 s, fan stops at 2 minutes", 1, "rtx4090",
     5 * MINUTE, JOBS(training_jobs), CONDITIONS(fan_conditions), .finding = FINDING_FAN_STOPPED},
    {"power-cap", "full load under a power limit of 55%", "steady from the start", 1, "rtx4090", 5 * MINUTE,
     JOBS(training_jobs), CONDITIONS(cap_conditions), .finding = FINDING_COMPUTE_LOAD},
    {"shared-desktop", "a desktop: screen, browser, and a language model that works now and then",
     "the model works from 3 to 4 minutes of every 5", 1, "rtx4090", MINUTE, JOBS(desktop_jobs), .finding = FINDING_CONTEXT_HELD},
    {"crowd", "sixteen small servers on every GPU", "steady from the start", 8, "h100", 5 * MINUTE, JOBS(crowd_jobs), .finding = FINDING_SHARED_LOAD},
    {"night", "a night on a shared server, with a miner and an hour without cooling", "10 hours from 20:00, every day", 4,
     "h100", 0, JOBS(night_jobs), CONDITIONS(night_conditions), .finding = FINDING_COMPUTE_LOAD},
    {"ecc-errors", "the memory of GPU 0 goes bad", "from 30 s on", 2, "h100", 40, JOBS(ecc_jobs), CONDITIONS(ecc_conditions), .finding = FINDING_DRIVER_VERDICT},
    {"bad-link", "GPU 0 sits in its slot with 4 of 16 lanes", "steady from the start", 1, "rtx4090", 5 * MINUTE,
     JOBS(training_jobs), CONDITIONS(link_conditions), .finding = FINDING_PCIE_LINK},
    {"gpu-error", "GPU 0 answers with an error", "steady from the start", 2, "h100", 5 * MINUTE, JOBS(lost_jobs), CONDITIONS(error_conditions), .finding = FINDING_ERROR},
    {"xid", "the system processor of GPU 0 stops responding (XID 119)", "from 40 s on", 2, "h100", 10, JOBS(training_jobs), CONDITIONS(xid_conditions), .finding = FINDING_XID},
    {"reset-needed", "the driver asks for a reset of GPU 0", "steady from the start", 2, "h100", 5 * MINUTE, READINGS(reset_readings), .finding = FINDING_DRIVER_VERDICT},
    {"repair-pending", "a memory channel of GPU 0 is repaired at the next reset", "steady from the start", 2, "h100", 5 * MINUTE, READINGS(repair_readings), .finding = FINDING_REPAIR},
    {"row-remap", "a bad memory row of GPU 0 is waiting for a reset", "steady from the start", 2, "h100", 5 * MINUTE, JOBS(training_jobs), READINGS(remap_readings), .finding = FINDING_ROW_REMAP},
    {"retired-page", "a bad memory page of GPU 0 is waiting for a reboot", "steady from the start", 2, "a100", 5 * MINUTE, READINGS(pages_readings), .finding = FINDING_RETIRED_PAGES},
    {"power-brake", "the power supply throttles GPU 0, which is cool", "steady from the start", 2, "h100", 5 * MINUTE, JOBS(training_jobs), READINGS(brake_readings), .finding = FINDING_SLOWDOWN},
    {"fan-failing", "the fan turns far slower than it is asked to", "steady from the start", 1, "rtx4090", 5 * MINUTE, JOBS(training_jobs), READINGS(slow_fan_readings), .finding = FINDING_FAN_FAILING},
    {"fan-by-hand", "a fan speed of 30% was set by hand and forgotten", "steady from the start", 1, "rtx4090", 5 * MINUTE, JOBS(training_jobs), READINGS(fixed_fan_readings), .fan_control = "manual", .finding = FINDING_FAN_BY_HAND},
    {"fan-setting", "nothing runs, and the fan is fast all the same", "steady from the start", 1, "rtx4090", 5 * MINUTE, READINGS(fast_fan_readings), .fan_control = "manual", .finding = FINDING_FAN_SETTING},
    {"loud", "full load, and the fan is at its loudest", "steady from the start", 1, "rtx4090", 5 * MINUTE, JOBS(training_jobs), READINGS(loud_readings), .finding = FINDING_LOUD},
    {"hot", "full load, a few degrees below the limit", "steady from the start", 1, "l4", 5 * MINUTE, JOBS(training_jobs), READINGS(hot_readings), .finding = FINDING_HOT},
    {"hot-memory", "the memory is above its limit, the chip is not", "steady from the start", 1, "h100", 5 * MINUTE, JOBS(training_jobs), READINGS(hot_memory_readings), .finding = FINDING_MEMORY_HOT},
    {"hot-spot", "one spot of the chip is 43 °C hotter than the rest", "steady from the start", 1, "rx7900xtx", 2 * MINUTE, JOBS(game_jobs), READINGS(hotspot_readings), .finding = FINDING_HOTSPOT},
    {"vram-full", "a training fills the memory", "steady from the start", 1, "rtx4090", 5 * MINUTE, JOBS(training_jobs), READINGS(full_readings), .finding = FINDING_VRAM_FULL},
    {"vram-unowned", "a killed program has left 21 GiB behind", "steady from the start", 1, "rtx4090", 5 * MINUTE, READINGS(unowned_readings), .finding = FINDING_MEMORY_UNOWNED},
    {"vram-spill", "a game needs more memory than the GPU has", "steady from the start", 1, "rx7900xtx", 2 * MINUTE, JOBS(game_jobs), READINGS(spill_readings), .finding = FINDING_MEMORY_SPILLED},
    {"pcie-replays", "the PCIe link sends packets again, 40 a second", "steady from the start", 1, "h100", 5 * MINUTE, JOBS(training_jobs), READINGS(replay_readings), .finding = FINDING_PCIE_REPLAYS},
    {"nvlink-down", "6 of the 18 NVLinks of GPU 0 are down", "steady from the start", 4, "h100", 5 * MINUTE, JOBS(training_jobs), READINGS(nvlink_readings), .finding = FINDING_NVLINK},
    {"low-clocks", "full load, and the GPU stays at 210 MHz", "steady from the start", 1, "rtx4090", 5 * MINUTE, JOBS(training_jobs), READINGS(low_clock_readings), .finding = FINDING_CLOCKS_LOW},
    {"power-unexplained", "nothing runs, and the GPU draws 380 W", "steady from the start", 1, "h100", 5 * MINUTE, READINGS(unexplained_readings), .finding = FINDING_POWER_UNEXPLAINED},
    {"hidden-load", "full load, and no process is listed", "steady from the start", 1, "h100", 5 * MINUTE, JOBS(training_jobs), .hides = true, .finding = FINDING_HIDDEN_LOAD},
    {"waiting-kernel", "GPU 0 is busy all the time, but only waits", "steady from the start", 1, "h100", 5 * MINUTE, JOBS(training_jobs), READINGS(waiting_readings), .finding = FINDING_NO_WORK_DONE, .limit = LIMIT_KERNEL_WAIT},
    {"late-rank", "seven ranks of a job wait for the one on GPU 0, which computes in Python", "steady from the start", 8, "h100", 5 * MINUTE, JOBS(rank_jobs), READINGS(late_readings), OTHERS(waiting_readings), EVIDENCE_OF(python_evidence), .finding = FINDING_STRAGGLER},
    {"stopped-rank", "seven ranks of a job wait for the one on GPU 0, which is stopped", "steady from the start", 8, "h100", 5 * MINUTE, JOBS(rank_jobs), READINGS(stopped_readings), OTHERS(waiting_readings), EVIDENCE_OF(stopped_evidence), .finding = FINDING_STRAGGLER},
    {"slowed-rank", "seven ranks of a job wait for the one on GPU 0, which has four PCIe lanes", "steady from the start", 8, "h100", 5 * MINUTE, JOBS(rank_jobs), CONDITIONS(link_conditions), OTHERS(waiting_readings), .finding = FINDING_PCIE_LINK},
    {"waiting-job", "all eight ranks of a job wait for each other", "steady from the start", 8, "h100", 5 * MINUTE, JOBS(rank_jobs), READINGS(waiting_readings), OTHERS(waiting_readings), .finding = FINDING_RANKS_WAIT},
    {"heating-up", "full load, and the air stops flowing: GPU 0 is on its way to its limit", "air gone at 20 s, throttling at about 2 minutes", 1, "a100", 100, JOBS(overheat_jobs), CONDITIONS(overheat_conditions), .finding = FINDING_THROTTLE_SOON, .shows_after_s = 90},
    {"neighbor-heat", "nothing runs on GPU 0, and GPU 1 beside it warms it", "steady from the start", 2, "h100", 5 * MINUTE, JOBS(neighbour_jobs), READINGS(warmed_readings), .finding = FINDING_NEIGHBOUR_HEAT},
    /* Programs whose limit is known. Readings and host evidence are those of real programs on an H100 or H200. */
    {"one-thread", "a program computes in one Python thread between its steps", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.19, 0.005, 0.25), SHOWS({METRIC_power_mw, 216000}), DOES({EVIDENCE_main_running_permille, 1000},
     {EVIDENCE_busiest_thread_permille, 990}, {EVIDENCE_cpu_permille, 1000}, {EVIDENCE_code_python_permille, 810},
     {EVIDENCE_code_driver_permille, 170}, {EVIDENCE_code_native_permille, 20}),
     .finding = FINDING_WAITS_FOR_HOST, .limit = LIMIT_HOST_CPU},
    {"busy-thread", "a thread of a program is busy, and nothing shows in what", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.19, 0.005, 0.25), SHOWS({METRIC_power_mw, 216000}), DOES({EVIDENCE_main_running_permille, 1000},
     {EVIDENCE_busiest_thread_permille, 990}, {EVIDENCE_cpu_permille, 1000}),
     .finding = FINDING_WAITS_FOR_HOST, .limit = LIMIT_HOST_CPU},
    {"cpu-optimizer", "a program computes in native threads on the CPU", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.08, 0.005, 0.2), SHOWS({METRIC_power_mw, 150000}), DOES({EVIDENCE_main_running_permille, 900},
     {EVIDENCE_busiest_thread_permille, 980}, {EVIDENCE_cpu_permille, 7600}, {EVIDENCE_busy_threads, 8}, {EVIDENCE_code_native_permille, 930},
     {EVIDENCE_code_python_permille, 10}, {EVIDENCE_code_driver_permille, 40}), .code = "libtorch_cpu",
     .finding = FINDING_WAITS_FOR_HOST, .limit = LIMIT_CPU_WORK},
    {"allocating", "a program allocates and frees memory of the GPU in every step", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.12, 0.005, 0.2), SHOWS({METRIC_power_mw, 150000}), DOES({EVIDENCE_main_running_permille, 1000},
     {EVIDENCE_busiest_thread_permille, 990}, {EVIDENCE_cpu_permille, 1000}, {EVIDENCE_code_kernel_permille, 580},
     {EVIDENCE_code_driver_permille, 270}, {EVIDENCE_code_native_permille, 90}, {EVIDENCE_code_python_permille, 50}), .code = "libcuda",
     .finding = FINDING_WAITS_FOR_HOST, .limit = LIMIT_ALLOCATION},
    {"slow-service", "a program waits for a service between its steps", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.07, 0.003, 0.15), SHOWS({METRIC_power_mw, 140000}), DOES({EVIDENCE_main_pipe_permille, 930},
     {EVIDENCE_main_running_permille, 70}, {EVIDENCE_cpu_permille, 60}, {EVIDENCE_peer_pid, 812}, {EVIDENCE_peer_cpu_permille, 40}),
     .peer = "127.0.0.1:6379 (redis.service, PID 812)", .finding = FINDING_WAITS_FOR_PEER, .limit = LIMIT_PEER},
    {"partly-on-cpu", "a model is larger than the memory that its server has on the GPU", "steady from the start", 1, "rtx4090", 5 * MINUTE,
     LIMITED(0.22, 0.1, 0.25), DOES({EVIDENCE_main_running_permille, 950}, {EVIDENCE_busiest_thread_permille, 960},
     {EVIDENCE_cpu_permille, 7800}, {EVIDENCE_busy_threads, 8}, {EVIDENCE_model_bytes, INT64_C(28) << 30},
     {EVIDENCE_file_rss_bytes, INT64_C(27) << 30}), .finding = FINDING_PARTLY_ON_CPU, .limit = LIMIT_PARTLY_ON_CPU},
    {"slow-loaders", "a program waits for two loader processes that compute", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.03, 0.004, 0.1), SHOWS({METRIC_power_mw, 130000}), DOES({EVIDENCE_main_pipe_permille, 900},
     {EVIDENCE_main_running_permille, 100}, {EVIDENCE_cpu_permille, 80}, {EVIDENCE_child_count, 2}, {EVIDENCE_child_cpu_permille, 1850},
     {EVIDENCE_child_busiest_permille, 970}), .child = "pt_data_worker",
     .finding = FINDING_WAITS_FOR_LOADERS, .limit = LIMIT_LOADERS},
    {"waiting-loaders", "a program waits for loader processes that wait themselves", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.01, 0.001, 0.1), SHOWS({METRIC_power_mw, 124000}), DOES({EVIDENCE_main_poll_permille, 1000}, {EVIDENCE_cpu_permille, 10},
     {EVIDENCE_child_count, 2}, {EVIDENCE_child_cpu_permille, 20}, {EVIDENCE_child_busiest_permille, 10},
     {EVIDENCE_child_sleep_count, 2}), .child = "pt_data_worker",
     .finding = FINDING_WAITS_FOR_LOADERS, .limit = LIMIT_LOADERS},
    {"slow-disk", "a program reads its data from a disk", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.14, 0.004, 0.25), SHOWS({METRIC_power_mw, 192000}), DOES({EVIDENCE_main_disk_permille, 670},
     {EVIDENCE_main_running_permille, 330}, {EVIDENCE_cpu_permille, 350}, {EVIDENCE_read_bytes_per_s, 1200000000}),
     .finding = FINDING_WAITS_FOR_DISK, .limit = LIMIT_DISK},
    {"checkpoints", "a program saves a checkpoint every few steps", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.14, 0.004, 0.25), SHOWS({METRIC_power_mw, 207000}), DOES({EVIDENCE_main_disk_permille, 400},
     {EVIDENCE_main_running_permille, 600}, {EVIDENCE_cpu_permille, 600}, {EVIDENCE_write_bytes_per_s, 400000000}),
     .finding = FINDING_WAITS_FOR_DISK, .limit = LIMIT_DISK},
    {"slow-nfs", "a program waits for a network file system", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.08, 0.003, 0.2), SHOWS({METRIC_power_mw, 150000}), DOES({EVIDENCE_main_network_fs_permille, 850},
     {EVIDENCE_main_running_permille, 150}, {EVIDENCE_cpu_permille, 150}), .mount = "/mnt/data",
     .finding = FINDING_WAITS_FOR_NETWORK_FS, .limit = LIMIT_NETWORK_FS},
    {"cpu-quota", "a container's CPU quota stops a program", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.11, 0.003, 0.2), SHOWS({METRIC_power_mw, 160000}), DOES({EVIDENCE_main_running_permille, 1000},
     {EVIDENCE_cpu_permille, 1000}, {EVIDENCE_quota_millicores, 1000}, {EVIDENCE_throttled_permille, 700}),
     .finding = FINDING_CPU_QUOTA, .limit = LIMIT_CPU_QUOTA},
    {"swapping", "a program waits for memory of its host", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.06, 0.003, 0.2), SHOWS({METRIC_power_mw, 145000}), DOES({EVIDENCE_main_disk_permille, 800},
     {EVIDENCE_main_running_permille, 200}, {EVIDENCE_cpu_permille, 200}, {EVIDENCE_major_faults_per_s, 900},
     {EVIDENCE_swap_bytes, INT64_C(6) << 30}, {EVIDENCE_mem_pressure_permille, 600}),
     .finding = FINDING_WAITS_FOR_MEMORY, .limit = LIMIT_MEMORY_PRESSURE},
    {"tiny-kernels", "a program launches thousands of tiny kernels", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.28, 0, 0.1), SHOWS({METRIC_sm_active_permille, 1}, {METRIC_fp32_active_permille, 0}, {METRIC_power_mw, 122000}),
     DOES({EVIDENCE_main_running_permille, 1000}, {EVIDENCE_cpu_permille, 1000}, {EVIDENCE_busiest_thread_permille, 1000}),
     .finding = FINDING_SMALL_KERNELS, .limit = LIMIT_LAUNCH},
    {"compiling", "a program compiles its kernels at every step", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.07, 0.007, 0.1), SHOWS({METRIC_sm_active_permille, 8}, {METRIC_power_mw, 127000},
     {METRIC_pcie_rx_bytes_per_s, 40000000}, {METRIC_pcie_tx_bytes_per_s, 5000000}),
     DOES({EVIDENCE_main_running_permille, 1000}, {EVIDENCE_cpu_permille, 1000}, {EVIDENCE_busiest_thread_permille, 1000}),
     .compiler = "ptxas", .finding = FINDING_COMPILES, .limit = LIMIT_COMPILE},
    {"pageable-copies", "a program copies to the GPU from memory that is not pinned", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.39, 0.004, 0.1), SHOWS({METRIC_graphics_active_permille, 0}, {METRIC_sm_active_permille, 0}, {METRIC_power_mw, 124000},
     {METRIC_pcie_rx_bytes_per_s, INT64_C(20000000000)}, {METRIC_pcie_tx_bytes_per_s, 1200000000}),
     DOES({EVIDENCE_main_running_permille, 1000}, {EVIDENCE_cpu_permille, 1000}),
     .finding = FINDING_COPIES, .limit = LIMIT_PCIE_IN},
    {"remote-node", "a program copies through the NUMA node of another GPU", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.39, 0.004, 0.1), SHOWS({METRIC_graphics_active_permille, 0}, {METRIC_sm_active_permille, 0}, {METRIC_power_mw, 124000},
     {METRIC_pcie_rx_bytes_per_s, INT64_C(18000000000)}, {METRIC_pcie_tx_bytes_per_s, 1200000000}),
     DOES({EVIDENCE_main_running_permille, 1000}, {EVIDENCE_cpu_permille, 1000}, {EVIDENCE_cpu_node, 1}, {EVIDENCE_gpu_node, 0}),
     .finding = FINDING_REMOTE_NODE, .limit = LIMIT_NUMA},
    {"no-tensor-cores", "a program multiplies matrices in single precision", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.98, 0.05, 0.93), SHOWS({METRIC_fp32_active_permille, 760}, {METRIC_tensor_active_permille, 0}, {METRIC_throttle_bits, 0}),
     .finding = FINDING_NO_TENSOR_CORES, .limit = LIMIT_NO_TENSOR},
    {"nvlink-bound", "a program waits for traffic between GPUs", "steady from the start", 1, "h100", 5 * MINUTE,
     LIMITED(0.99, 0.2, 0.5), SHOWS({METRIC_sm_active_permille, 220}, {METRIC_nvlink_links_active, 18}, {METRIC_throttle_bits, 0},
     {METRIC_nvlink_rx_bytes_per_s, INT64_C(330000000000)}, {METRIC_nvlink_tx_bytes_per_s, INT64_C(330000000000)}),
     .finding = FINDING_NVLINK_TRAFFIC, .limit = LIMIT_NVLINK},
    /* Model servers, by their own metrics. */
    {"serving", "a vLLM server answers twelve requests at a time, 900 tokens a second", "steady from the start", 1, "h100", 5 * MINUTE,
     SERVES(LOAD_STEADY, 0.9, .tokens = 900, .prompt_tokens = 2400, .running = 12, .kv_cache = 0.35, .prefix_hits = 0.4, .first_token_s = 0.12),
     .finding = FINDING_COMPUTE_LOAD},
    {"slow-serving", "the same server with the same requests, 400 tokens a second", "steady from the start", 1, "h100", 5 * MINUTE,
     SERVES(LOAD_STEADY, 0.9, .tokens = 400, .prompt_tokens = 1100, .running = 12, .kv_cache = 0.35, .prefix_hits = 0.4, .first_token_s = 0.3),
     .finding = FINDING_COMPUTE_LOAD},
    {"kv-full", "the KV cache of a vLLM server is full, and nine requests wait", "steady from the start", 1, "rtx4090", 5 * MINUTE,
     SERVES(LOAD_STEADY, 0.95, .tokens = 620, .prompt_tokens = 1500, .running = 24, .waiting = 9, .kv_cache = 0.985, .prefix_hits = 0.1, .first_token_s = 4.2),
     .finding = FINDING_KV_CACHE_FULL},
    {"preemptions", "a vLLM server interrupts requests because its KV cache is full", "steady from the start", 1, "rtx4090", 5 * MINUTE,
     SERVES(LOAD_STEADY, 0.95, .tokens = 380, .prompt_tokens = 2900, .running = 30, .waiting = 6, .kv_cache = 0.998, .prefix_hits = 0.1, .first_token_s = 6.5,
            .preempted_per_min = 22),
     .finding = FINDING_PREEMPTIONS},
    {"queue", "forty requests wait at a vLLM server that works on eight", "steady from the start", 1, "rtx4090", 5 * MINUTE,
     SERVES(LOAD_STEADY, 0.95, .tokens = 410, .prompt_tokens = 900, .running = 8, .waiting = 40, .kv_cache = 0.4, .prefix_hits = 0.2, .first_token_s = 21),
     .finding = FINDING_REQUESTS_QUEUE},
    {"silent-server", "a vLLM server has stopped answering", "steady from the start", 1, "rtx4090", 5 * MINUTE,
     SERVES(LOAD_PARKED, 0, .silent = true), .finding = FINDING_SERVER_SILENT},
    {"unused-model", "a vLLM server holds the memory, and no requests come", "steady from the start", 1, "rtx4090", 5 * MINUTE,
     SERVES(LOAD_PARKED, 0, .kv_cache = 0), .finding = FINDING_MODEL_UNUSED, .shows_after_s = 2 * HOUR + 5 * MINUTE},
};
/* clang-format on */

size_t sim_scenarios(const struct sim_scenario **ret)
{
    *ret = scenarios;
    return ARRAY_LEN(scenarios);
}
