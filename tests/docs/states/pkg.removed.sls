old-tools:
  pkg.removed:
    - pkgs: [telnet, rsh-client]
