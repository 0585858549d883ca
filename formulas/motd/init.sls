# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import motd with context %}

motd-file:
  file.managed:
    - name: {{ motd.file }}
    - source: salt://{{ tpldir }}/files/motd.jinja
    - template: jinja
    - mode: '0644'
    - user: root
    - group: {{ motd.root_group }}
    - context:
        motd: {{ motd | json }}
