# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import chrony with context %}

include:
  - .package

chrony-config:
  file.managed:
    - name: {{ chrony.conf_file }}
    - source: salt://{{ tpldir }}/files/chrony.conf.jinja
    - template: jinja
    - mode: '0644'
    - user: root
    - group: {{ chrony.root_group }}
    - context:
        chrony: {{ chrony | json }}
    - require:
      - sls: {{ slsdotpath }}.package
