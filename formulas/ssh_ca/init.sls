# -*- coding: utf-8 -*-
# vim: ft=sls
---
include:
  - .users
  - .hosts
  - .config
  - .service
