exim4:
  service.dead:
    - enable: false
