story calm-warm-usual
title A 3090 at 76 degrees in a warm room, as in the last weeks
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090-train
  temperature_celsius 76
  fan_percent 70
  usual temperature_celsius 75 low 72 high 78 fan_percent 69 days 25
  was 300s..0s every 5s temperature_celsius 75~76
  process 18 python3 compute
    started 9h
    memory_mb 19900
    utilization_percent 98
expect
  calm yes
  first compute_load or power_limit
