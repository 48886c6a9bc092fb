/* SPDX-License-Identifier: Apache-2.0
 * The scenarios, as tables: who runs when and where, and what goes wrong. A new one is some rows here.
 */
#include "base/cleanup.h"
#include "source/sim/job.h"

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

/* Rows that several scenarios share. */
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

/* The leak goes on while others come and go. */
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

/* Ten hours from eight in the evening; scenario time 0 is 20:00. */
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

/* Sixteen small servers on every GPU: what many processes cost. */
#define SMALL_SERVER \
    {.cause = "inference", .where = ON_ALL, .program = &server, .pattern = LOAD_INFERENCE, .util = 0.05, .mem_util = 0.03, \
     .power = 0.05, .tensor = 0.02, .vram_share = 0.05, .load_s = 5}
#define FOUR_SERVERS SMALL_SERVER, SMALL_SERVER, SMALL_SERVER, SMALL_SERVER
static const struct sim_job crowd_jobs[] = {FOUR_SERVERS, FOUR_SERVERS, FOUR_SERVERS, FOUR_SERVERS};

static const struct sim_condition link_conditions[] = {{.kind = TROUBLE_LINK, .where = ON_GPU(0), .value = 4}};

#define JOBS(table) .jobs = (table), .job_count = ARRAY_LEN(table)
#define CONDITIONS(table) .conditions = (table), .condition_count = ARRAY_LEN(table)

static const struct sim_scenario scenarios[] = {
    {"mixed", "GPUs of three vendors doing different things", "steady from the start", 4, "mixed", 10 * MINUTE + 25,
     JOBS(mixed_jobs)},
    {"idle", "nothing runs", "steady from the start", 1, "rtx4090", 10 * MINUTE},
    {"training", "a language model is trained on every GPU", "25 s loading, then full load with a checkpoint every 10 minutes",
     4, "h100", 5 * MINUTE, JOBS(training_jobs)},
    {"inference", "a server answers requests, now more, now fewer", "30 s loading, then load up and down", 1, "rtx4090",
     5 * MINUTE, JOBS(inference_jobs)},
    {"game-start", "a game starts on a desktop that holds a language model",
     "game from 10 s on for 10 minutes; again every 15 minutes", 1, "rtx4090", 0, JOBS(game_jobs)},
    {"vram-leak", "a server loses memory until the GPU is full", "full after about 22 minutes (other seeds: from 14), then it dies and starts again",
     1, "rtx4090", 2 * MINUTE, JOBS(leak_jobs)},
    {"slow-leak", "a server loses memory slowly, under a noisy load", "full after about 45 minutes", 1, "rtx4090", 2 * MINUTE,
     JOBS(slow_leak_jobs)},
    {"leak-beside", "a server loses memory while other programs come and go", "full after about 20 minutes", 1, "rtx4090",
     2 * MINUTE, JOBS(leak_beside_jobs)},
    {"vram-sawtooth", "memory is gained bit by bit and freed at once, repeatedly: no leak",
     "a tooth about every 2 minutes", 1, "rtx4090", 3 * MINUTE, JOBS(saw_jobs)},
    {"leaky-sawtooth", "the same with a leak: each tooth ends higher", "a tooth every 80 s, full after some 20 minutes", 1,
     "rtx4090", 2 * MINUTE, JOBS(leaky_saw_jobs)},
    {"model-swap", "models are loaded and unloaded all the time", "steady from the start", 1, "rtx4090", 0, JOBS(swap_jobs)},
    {"overheat", "full load while the air stops flowing: GPU 0 throttles", "training from 0 s, air gone at 2 minutes",
     1, "rtx4090", 10 * MINUTE, JOBS(overheat_jobs), CONDITIONS(overheat_conditions)},
    {"gpu-lost", "GPU 0 falls off the bus and comes back", "lost for 30 s of every minute", 2, "h100", 2 * MINUTE,
     JOBS(lost_jobs), CONDITIONS(lost_conditions)},
    {"asleep", "a laptop's GPU that sleeps most of the time", "asleep for 4 minutes, awake for a browser for 1", 1, "rtx3060",
     0, JOBS(asleep_jobs), CONDITIONS(asleep_conditions)},
    {"crypto-miner", "somebody mines coins as www-data", "from 30 s on", 1, "rtx4090", 10 * MINUTE, JOBS(miner_jobs)},
    {"video-encode", "a film is converted by the video engines", "steady from the start", 1, "rtx4090", 5 * MINUTE,
     JOBS(encode_jobs)},
    {"hot-idle", "nothing runs, but bad airflow keeps the GPU hot and the fan busy", "steady from the start", 1, "rtx4090",
     20 * MINUTE, .conditions = hot_idle_conditions, .condition_count = ARRAY_LEN(hot_idle_conditions)},
    {"held-context", "a forgotten notebook holds most of the memory and keeps the clocks up", "steady from the start", 1,
     "rtx4090", 10 * MINUTE, JOBS(held_jobs)},
    {"multi-user", "four people share a server", "steady from the start", 4, "a100", 10 * MINUTE, JOBS(users_jobs)},
    {"mig", "a GPU divided into instances", "steady from the start", 1, "h100", 5 * MINUTE, JOBS(mig_jobs),
     CONDITIONS(mig_conditions)},
    {"bursty", "images are generated, with pauses", "full load and none, about half a minute each", 1, "rtx4090", 5 * MINUTE,
     JOBS(bursty_jobs)},
    {"fan-stopped", "the fan of GPU 0 has stopped under load", "training from 0 s, fan stops at 2 minutes", 1, "rtx4090",
     5 * MINUTE, JOBS(training_jobs), CONDITIONS(fan_conditions)},
    {"power-cap", "full load under a power limit of 55%", "steady from the start", 1, "rtx4090", 5 * MINUTE,
     JOBS(training_jobs), CONDITIONS(cap_conditions)},
    {"shared-desktop", "a desktop: screen, browser, and a language model that works now and then",
     "the model works from 3 to 4 minutes of every 5", 1, "rtx4090", MINUTE, JOBS(desktop_jobs)},
    {"crowd", "sixteen small servers on every GPU", "steady from the start", 8, "h100", 5 * MINUTE, JOBS(crowd_jobs)},
    {"night", "a night on a shared server, with a miner and an hour without cooling", "10 hours from 20:00, every day", 4,
     "h100", 0, JOBS(night_jobs), CONDITIONS(night_conditions)},
    {"ecc-errors", "the memory of GPU 0 goes bad", "from 30 s on", 2, "h100", 40, JOBS(ecc_jobs), CONDITIONS(ecc_conditions)},
    {"bad-link", "GPU 0 sits in its slot with 4 of 16 lanes", "steady from the start", 1, "rtx4090", 5 * MINUTE,
     JOBS(training_jobs), CONDITIONS(link_conditions)},
};
/* clang-format on */

size_t sim_scenarios(const struct sim_scenario **ret)
{
    *ret = scenarios;
    return ARRAY_LEN(scenarios);
}
