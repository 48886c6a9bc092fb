story fault-gsp-timeout
title The GSP of an L4 stopped answering (XID 119)
gpu 0 NVIDIA L4 like l4
  log 30s NVRM: Xid (PCI:0000:10:00): 119, pid=2200, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU0 GSP!
  was 120s..0s every 5s power_watts 16
expect
  severity warning or critical
  first xid
