story time-grows-in-its-first-minutes
title A training that has just started grows while its first batches come
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090-train
  memory_used_mb 17000
  was 60s..0s every 2s memory_used_mb 900>17000 utilization_percent 20>96
  process 20 python3 compute
    command python3 train.py
    started 65s
    memory_mb 16700
    utilization_percent 95
    was 60s..0s every 2s memory_mb 500>16700
expect
  calm yes
  first compute_load or loading
  gpu 0
  never vram_full_soon
