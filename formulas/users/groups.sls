# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import users with context %}
{%- if not users.groups %}

users-groups-none:
  test.nop:
    - name: no groups of their own
{%- endif %}
{%- for name, group in users.groups | dictsort %}
{%- set group = group or {} %}

users-group-{{ name }}:
  {%- if group.get("absent", false) %}
  group.absent:
    - name: {{ name }}
  {%- else %}
  group.present:
    - name: {{ name }}
    - system: {{ group.get("system", false) }}
    {%- if "gid" in group %}
    - gid: {{ group.gid }}
    {%- endif %}
  {%- endif %}
{%- endfor %}
