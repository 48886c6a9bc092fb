story fault-remap-failed
title No spare row is left: the H100 must be replaced
gpu 0 NVIDIA H100 80GB HBM3 like h100
  remapped_rows_uncorrected 8
  remapped_rows_failed 1
  was 120s..0s every 5s power_watts 69
expect
  severity critical
  first row_remap or repair
