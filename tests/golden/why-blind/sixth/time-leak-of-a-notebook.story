story time-leak-of-a-notebook
title A notebook takes 150 MiB more every minute since an hour; 3 GiB are left
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090-train
  memory_used_mb 21500
  was 3600s..0s every 30s memory_used_mb 12500>21500 utilization_percent 55~60 power_watts 240~250
  utilization_percent 57
  power_watts 246
  process 20 python3 compute
    user eva
    command python3 -m ipykernel_launcher
    started 3h
    memory_mb 21300
    utilization_percent 57
    was 3600s..0s every 30s memory_mb 12300>21300
expect
  severity notice or warning
  first vram_full_soon
  pid 20
