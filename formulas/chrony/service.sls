# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import chrony with context %}

include:
  - .config
{%- if chrony.manage_service %}
{%- for name in chrony.conflicting %}

chrony-conflicting-{{ name }}:
  service.dead:
    - name: {{ name }}
    - enable: false
    - require_in:
      - service: chrony-service-running
{%- endfor %}

chrony-service-running:
  service.running:
    - name: {{ chrony.service }}
    - enable: true
    - require:
      - sls: {{ slsdotpath }}.package
    - watch:
      - sls: {{ slsdotpath }}.config
{%- else %}

chrony-service-unmanaged:
  test.nop:
    - name: the service is left alone (chrony:manage_service is false)
{%- endif %}
