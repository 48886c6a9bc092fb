story time-full-between-batches
title Memory goes up and down with the batches between 60 and 90% for half an hour: no leak
gpu 0 NVIDIA GeForce RTX 4090 like rtx4090-train
  memory_used_mb 19000
  was 1800s..0s every 5s memory_used_mb 15000~16800~18600~20400~22000~15100
  process 30 python3 compute
    command python3 train.py --bucket
    started 4h
    memory_mb 18700
    utilization_percent 98
    was 1800s..0s every 5s memory_mb 14700~16500~18300~20100~21700~14800
expect
  calm yes
  first compute_load or power_limit
