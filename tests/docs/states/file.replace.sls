/srv/app/server.conf:
  file.replace:
    - pattern: '^port\s*=.*$'
    - repl: port = 9090
    - append_if_not_found: true
    - backup: false
    - require:
      - file: server.conf is there

server.conf is there:
  file.managed:
    - name: /srv/app/server.conf
    - contents: "port = 80\nhost = localhost"
    - replace: false                  # only where there is none
    - makedirs: true
