# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import users with context %}

include:
  - .accounts

{%- set rules = [] %}
{%- for name, account in users.accounts | dictsort if account and account.get("sudo") and not account.get("absent", false) %}
{%- do rules.append(name) %}
{%- endfor %}
{%- if rules %}

users-sudo-package:
  pkg.installed:
    - name: {{ users.sudo_package }}
{%- endif %}
{%- for name, account in users.accounts | dictsort %}
{%- set lines = (account or {}).get("sudo", []) %}

users-sudo-{{ name }}:
  {%- if name in rules %}
  file.managed:
    - name: {{ users.sudoers_dir }}/{{ name | replace(".", "_") }}
    - source: salt://{{ tpldir }}/files/sudoers.jinja
    - template: jinja
    - mode: '0440'
    - user: root
    - group: {{ users.root_group }}
    - check_cmd: {{ users.visudo }} -c -f
    - context:
        name: {{ name | json }}
        lines: {{ ([lines] if lines is string else lines) | json }}
    - require:
      - pkg: users-sudo-package
      - user: users-account-{{ name }}
  {%- else %}
  file.absent:
    - name: {{ users.sudoers_dir }}/{{ name | replace(".", "_") }}
  {%- endif %}
{%- else %}

users-sudo-none:
  test.nop:
    - name: no accounts of their own
{%- endfor %}
