story calm-first-look-idle-unknown-utilization
title The first look at a card: its utilization is not known yet
gpu 0 Intel Arc B580 like b580
  utilization_pending
  power_watts -
expect
  calm yes
