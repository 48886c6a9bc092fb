story chain-leak-fills-card
title An inference worker that leaks 200 MB a minute has 25 minutes left
gpu 0 NVIDIA L4 like l4-serve
  memory_used_mb 18000
  utilization_percent 55
  power_watts 58
  throttle_reasons none
  was 1800s..0s every 15s memory_used_mb 12000>18000
  process 515 python3 compute
    user svc
    command python3 worker.py
    started 9h
    memory_mb 17800
    utilization_percent 54
    was 1800s..0s every 15s memory_mb 11800>17800
expect
  severity notice or warning
  first vram_full_soon
  pid 515
