# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import apache with context %}

include:
  - .config
{%- if apache.manage_service %}

apache-service-running:
  service.running:
    - name: {{ apache.service }}
    - enable: true
    - reload: true
    - require:
      - sls: {{ slsdotpath }}.package
    - watch:
      - sls: {{ slsdotpath }}.config
{%- else %}

apache-service-unmanaged:
  test.nop:
    - name: the service is left alone (apache:manage_service is false)
{%- endif %}
