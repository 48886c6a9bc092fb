story calm-corrected-errors-few
title Three corrected memory errors on an A100 in months
gpu 0 NVIDIA A100-SXM4-80GB like a100-train
  ecc_corrected 3
  ecc_corrected_lifetime 12
  was 120s..0s every 5s ecc_corrected 3
  process 2 python3 compute
    started 5h
    memory_mb 65000
    utilization_percent 98
expect
  calm yes
  first compute_load
