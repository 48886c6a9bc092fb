story time-leak-straight-line
title A game server leaks 2 MB a second for ten minutes after an hour of work
gpu 0 NVIDIA GeForce RTX 4080 like rtx4080-busy
  memory_used_mb 13500
  was 600s..0s every 5s memory_used_mb 12300>13500
  was 1800s..601s every 10s memory_used_mb 12300
  process 17 python3 compute
    user dev
    command python3 serve_sd.py
    started 2h
    memory_mb 13100
    utilization_percent 97
    was 600s..0s every 5s memory_mb 11900>13100
    was 1800s..601s every 10s memory_mb 11900
expect
  severity notice or warning
  first vram_full_soon
  pid 17
