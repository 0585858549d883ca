# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import users with context %}

include:
  - .groups
{%- if not users.accounts %}

users-accounts-none:
  test.nop:
    - name: no accounts of their own
{%- endif %}
{%- for name, account in users.accounts | dictsort %}
{%- set account = account or {} %}
{%- if account.get("absent", false) %}

users-account-{{ name }}:
  user.absent:
    - name: {{ name }}
    - purge: {{ account.get("purge", false) }}
    - force: {{ account.get("force", false) }}
{%- else %}
{%- set home = account.get("home", users.home_base ~ "/" ~ name) %}

users-account-{{ name }}:
  user.present:
    - name: {{ name }}
    - fullname: {{ account.get("fullname", "") | json }}
    - shell: {{ account.get("shell", users.shell) }}
    - home: {{ home }}
    - system: {{ account.get("system", false) }}
    - remove_groups: {{ account.get("remove_groups", false) }}
    - groups: {{ account.get("groups", []) | json }}
    - optional_groups: {{ account.get("optional_groups", []) | json }}
    {%- for key in ["uid", "gid", "expire", "password"] if key in account %}
    - {{ key }}: {{ account[key] | json }}
    {%- endfor %}
    - require:
      - sls: {{ slsdotpath }}.groups
{%- if account.get("createhome", true) %}

users-home-{{ name }}:
  file.directory:
    - name: {{ home }}
    - user: {{ name }}
    - mode: {{ account.get("home_mode", users.home_mode) | json }}
    - require:
      - user: users-account-{{ name }}
{%- endif %}
{%- endif %}
{%- endfor %}
