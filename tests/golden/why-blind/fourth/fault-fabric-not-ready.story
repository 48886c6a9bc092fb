story fault-fabric-not-ready
title The fabric manager does not run: a B200 did not join the NVLink fabric
gpu 0 NVIDIA B200 like b200
  fabric_ready 0
  nvlink_links_active 0
gpu 1 NVIDIA B200 like b200
  fabric_ready 1
expect
  severity warning or critical
  first nvlink
  leads 0
