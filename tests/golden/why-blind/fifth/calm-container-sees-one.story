story calm-container-sees-one
title In a container: one H100 of eight, its own training, the list of others denied
gpu 0 NVIDIA H100 80GB HBM3 like h100-train
  was 300s..0s every 5s utilization_percent 99~98 power_watts 655~661~650
  process 7 python3 compute
    user root
    command python3 train.py
    container pod-17
    started 6h
    memory_mb 70500
    utilization_percent 99
expect
  calm yes
  first compute_load
  pid 7
