story fault-a100-sram-threshold
title The SRAM of an A100 passed the count of errors at which it is to be replaced
gpu 0 NVIDIA A100-SXM4-80GB like a100
  ecc_sram_threshold_exceeded 1
  ecc_sram_uncorrected_parity_lifetime 12
  ecc_uncorrected_lifetime 12
  was 120s..0s every 5s power_watts 57
expect
  severity warning or critical
  leads 0
