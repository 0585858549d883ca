# -*- coding: utf-8 -*-
# vim: ft=sls
{%- from tpldir ~ "/map.jinja" import users with context %}

include:
  - .accounts

users-keys-all:
  test.nop:
    - name: every account has its keys
{%- for name, account in users.accounts | dictsort if account and not account.get("absent", false) %}
{%- for state, keys in [("present", account.get("ssh_keys", [])), ("absent", account.get("ssh_keys_absent", []))] if keys %}

users-keys-{{ name }}-{{ state }}:
  ssh_auth.{{ state }}:
    - user: {{ name }}
    - names: {{ keys | json }}
    - require:
      - user: users-account-{{ name }}
    - require_in:
      - test: users-keys-all
{%- endfor %}
{%- endfor %}
