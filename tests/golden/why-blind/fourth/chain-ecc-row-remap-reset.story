story chain-ecc-row-remap-reset
title A double bit error marked a row of HBM for remapping, and the driver asks for a reset
gpu 0 NVIDIA A100-SXM4-80GB like a100
  ecc_uncorrected 1
  remapped_rows_uncorrected 1
  remapped_rows_pending 1
  recovery_action 1
  log 400s NVRM: Xid (PCI:0000:10:00): 48, pid=70, name=python3, DBE (Double Bit Error) ECC Error
  log 399s NVRM: Xid (PCI:0000:10:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping
  was 600s..0s every 10s power_watts 57
expect
  severity critical
  first ecc or driver_verdict or row_remap
  leads 0
  gpu 0
  has row_remap
