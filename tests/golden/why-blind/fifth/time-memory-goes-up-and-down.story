story time-memory-goes-up-and-down
title A batch job fills and empties the memory every five minutes
gpu 0 NVIDIA RTX A6000 like rtxa6000-train
  memory_used_mb 36000
  temperature_celsius 72
  fan_percent 55
  was 300s..0s every 5s memory_used_mb 18000>36000
  was 600s..301s every 5s memory_used_mb 18000>41000
  was 900s..601s every 5s memory_used_mb 18000>41000
  was 1200s..901s every 5s memory_used_mb 18000>41000
  was 1500s..1201s every 5s memory_used_mb 18000>41000
  process 71 python3 compute
    user eva
    command python3 batch_infer.py
    started 6h
    memory_mb 35500
    utilization_percent 97
    was 300s..0s every 5s memory_mb 17500>35500
    was 600s..301s every 5s memory_mb 17500>40500
    was 900s..601s every 5s memory_mb 17500>40500
    was 1200s..901s every 5s memory_mb 17500>40500
    was 1500s..1201s every 5s memory_mb 17500>40500
expect
  calm yes
  never vram_full_soon
