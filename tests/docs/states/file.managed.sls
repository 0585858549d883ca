/etc/app/app.conf:
  file.managed:
    - contents: |
        port = 8080
        host = {{ grains['id'] }}
    - mode: '0640'
    - makedirs: true
    - check_cmd: grep -q port

/etc/app/message:
  file.managed:
    - source: salt://message.jinja    # it has the variables greeting and team
    - template: jinja
    - context: {team: everybody}
    - greeting: Good morning          # arguments that the state does not know are variables of the template too
    - backup: minion
