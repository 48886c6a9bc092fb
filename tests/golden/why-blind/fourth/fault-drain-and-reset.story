story fault-drain-and-reset
title The driver asks to drain a GPU of a node and to reset it
gpu 0 NVIDIA H100 80GB HBM3 like h100-train
  process 70 python3 compute
    started 3h
    memory_mb 70000
    utilization_percent 99
gpu 1 NVIDIA H100 80GB HBM3 like h100-train
  recovery_action 4
  process 71 python3 compute
    started 3h
    memory_mb 70000
    utilization_percent 99
expect
  severity critical
  first driver_verdict
  leads 1
