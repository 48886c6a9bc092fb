story fault-mig-uncorrectable
title An H100 divided into instances counted an error that it could not correct
gpu 0 NVIDIA H100 80GB HBM3 like h100
  mig_enabled 1
  utilization_percent -
  memory_utilization_percent -
  memory_used_mb 30000
  power_watts 240
  temperature_celsius 43
  clock_graphics_mhz 1980
  throttle_reasons none
  ecc_uncorrected 1
  remapped_rows_uncorrected 1
  remapped_rows_pending 1
  log 90s NVRM: Xid (PCI:0000:10:00): 94, pid=700, name=python3, Contained: SM (0x1). RST: No, D-RST: No
  was 120s..0s every 5s power_watts 240
  instance 3g.40gb
  instance 3g.40gb
  process 700 python3 compute
    in 0
    user a
    started 4h
    memory_mb 28000
expect
  severity warning or critical
  first ecc or row_remap or driver_verdict
  leads 0
