story fault-mi210-uncorrectable
title An MI210 counted two errors that it could not correct
gpu 0 AMD Instinct MI210 like mi210
  ecc_enabled 1
  ecc_corrected 11
  ecc_uncorrected 2
  was 120s..0s every 5s power_watts 41
expect
  severity critical
  first ecc
