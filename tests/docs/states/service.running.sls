/etc/app/web.conf:
  file.managed:
    - contents: 'port = 8080'
    - makedirs: true

nginx:
  service.running:
    - enable: true
    - watch:
      - file: /etc/app/web.conf       # restarted when this changes
