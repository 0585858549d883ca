make-the-key:
  cmd.run:
    - name: printf '%s' "$WORD" > /srv/app/key
    - env:
      - WORD: example
    - umask: '077'
    - creates: /srv/app/key           # not when this is there

say-what-changed:
  cmd.run:
    - name: echo; echo "changed=no comment='nothing to do'"
    - stateful: true
