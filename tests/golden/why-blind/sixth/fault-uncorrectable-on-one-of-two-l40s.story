story fault-uncorrectable-on-one-of-two-l40s
title One of two L40S counted a memory error that could not be corrected, and waits for its reset
gpu 0 NVIDIA L40S like l40s-render
  was 120s..0s every 5s utilization_percent 97
  process 61 python3 compute
    user svc
    command python3 diffusion.py
    started 8h
    memory_mb 20000
    utilization_percent 97
gpu 1 NVIDIA L40S like l40s
  ecc_enabled 1
  ecc_uncorrected 1
  remapped_rows_uncorrected 1
  remapped_rows_pending 1
  was 120s..0s every 5s power_watts 35
expect
  severity warning or critical
  first ecc or row_remap or driver_verdict
  leads 1
