story fault-sibling-no-links
title A V100 of four shows no NVLink at all
gpu 0 Tesla V100-SXM2-32GB like v100
gpu 1 Tesla V100-SXM2-32GB like v100
gpu 2 Tesla V100-SXM2-32GB like v100
  nvlink_links 0
  nvlink_links_active 0
gpu 3 Tesla V100-SXM2-32GB like v100
expect
  severity warning
  first nvlink
  leads 2
