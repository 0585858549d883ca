# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import openssh with context %}

include:
  - .package

openssh-config:
  file.managed:
    - name: {{ openssh.conf_dir }}/sshd_config
    - source: salt://{{ tpldir }}/files/sshd_config.jinja
    - template: jinja
    - mode: '0600'
    - user: root
    - group: {{ openssh.root_group }}
    # with an invalid configuration nobody could log in
    - check_cmd: {{ openssh.program }} -t -f
    - backup: minion
    - context:
        openssh: {{ openssh | json }}
    - require:
      - sls: {{ slsdotpath }}.package
