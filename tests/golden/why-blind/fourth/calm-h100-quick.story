story calm-h100-quick
title One quick look at an H100 that trains: the slow counters were not read
quick
gpu 0 NVIDIA H100 80GB HBM3 like h100-train
  process 70 python3 compute
    started 3h
    memory_mb 70000
    utilization_percent 99
expect
  calm yes
  first compute_load
