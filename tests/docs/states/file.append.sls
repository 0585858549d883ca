/srv/app/hosts.allow:
  file.append:
    - text:
      - 'sshd: 192.0.2.0/24'
      - 'sshd: 198.51.100.7'
    - makedirs: true
