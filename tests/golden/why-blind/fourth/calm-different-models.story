story calm-different-models
title A 3090 and a 3060 work on different things at different clocks
gpu 0 NVIDIA GeForce RTX 3090 like rtx3090-train
  was 120s..0s every 5s power_watts 320~324
  process 1 python3 compute
    started 2h
    memory_mb 19000
    utilization_percent 98
gpu 1 NVIDIA GeForce RTX 3060 like rtx3060-busy
  was 120s..0s every 5s power_watts 160~164
  process 2 blender compute
    started 2h
    memory_mb 9000
    utilization_percent 97
expect
  calm yes
  first compute_load
