story calm-a100s-train-serve-rest
title A server with eight A100s: four train, two serve, two are idle
gpu 0 NVIDIA A100-SXM4-80GB like a100-train
  power_watts 358
  temperature_celsius 57
  was 300s..0s every 5s utilization_percent 98~97
  process 100 python3 compute
    user ada
    command torchrun train.py
    started 8h
    memory_mb 65000
    job 3
    rank 0
    world_size 4
    utilization_percent 98
gpu 1 NVIDIA A100-SXM4-80GB like a100-train
  power_watts 361
  temperature_celsius 58
  was 300s..0s every 5s utilization_percent 98~97
  process 101 python3 compute
    user ada
    command torchrun train.py
    started 8h
    memory_mb 65000
    job 3
    rank 1
    world_size 4
    utilization_percent 98
gpu 2 NVIDIA A100-SXM4-80GB like a100-train
  power_watts 364
  temperature_celsius 59
  was 300s..0s every 5s utilization_percent 98~97
  process 102 python3 compute
    user ada
    command torchrun train.py
    started 8h
    memory_mb 65000
    job 3
    rank 2
    world_size 4
    utilization_percent 98
gpu 3 NVIDIA A100-SXM4-80GB like a100-train
  power_watts 367
  temperature_celsius 60
  was 300s..0s every 5s utilization_percent 98~97
  process 103 python3 compute
    user ada
    command torchrun train.py
    started 8h
    memory_mb 65000
    job 3
    rank 3
    world_size 4
    utilization_percent 98
gpu 4 NVIDIA A100-SXM4-80GB like a100
  utilization_percent 34
  memory_utilization_percent 20
  memory_used_mb 72000
  temperature_celsius 43
  power_watts 148
  clock_graphics_mhz 1410
  throttle_reasons none
  was 300s..0s every 5s utilization_percent 30~41~28~37
  process 204 python3 compute
    user svc
    command vllm serve Qwen/Qwen3-14B
    model Qwen3-14B
    started 300h
    memory_mb 71000
    utilization_percent 34
    tokens_per_second 410
    requests_running 3
    requests_waiting 0
    kv_cache_percent 4
gpu 5 NVIDIA A100-SXM4-80GB like a100
  utilization_percent 34
  memory_utilization_percent 20
  memory_used_mb 72000
  temperature_celsius 43
  power_watts 148
  clock_graphics_mhz 1410
  throttle_reasons none
  was 300s..0s every 5s utilization_percent 30~41~28~37
  process 205 python3 compute
    user svc
    command vllm serve Qwen/Qwen3-14B
    model Qwen3-14B
    started 300h
    memory_mb 71000
    utilization_percent 34
    tokens_per_second 410
    requests_running 3
    requests_waiting 0
    kv_cache_percent 4
gpu 6 NVIDIA A100-SXM4-80GB like a100
  was 300s..0s every 5s power_watts 57~58
gpu 7 NVIDIA A100-SXM4-80GB like a100
  was 300s..0s every 5s power_watts 57~58
expect
  calm yes
