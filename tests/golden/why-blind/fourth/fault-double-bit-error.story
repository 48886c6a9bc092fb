story fault-double-bit-error
title An A6000 had a double bit error in a job
gpu 0 NVIDIA RTX A6000 like rtxa6000-train
  ecc_uncorrected 3
  log 60s NVRM: Xid (PCI:0000:10:00): 48, pid=818, name=python3, DBE (Double Bit Error) ECC Error
  was 120s..61s every 5s ecc_uncorrected 0
  was 60s..0s every 5s ecc_uncorrected 3
  process 819 python3 compute
    started 50s
    memory_mb 41000
    utilization_percent 98
expect
  severity critical
  first ecc
