story calm-card-full-of-training
title A training uses 97% of a 3090, steadily: as its batch size was chosen
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090-train
  memory_used_mb 23600
  was 900s..0s every 10s memory_used_mb 23600
  process 14 python3 compute
    command python3 lora.py
    started 7h
    memory_mb 23300
    utilization_percent 98
expect
  calm yes
  first compute_load or power_limit or vram_full
