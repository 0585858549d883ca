# -*- coding: utf-8 -*-
# vim: ft=sls
# Accepted certificates of users: authorities, principals of each login, revocation list.
{%- from tpldir ~ "/map.jinja" import ssh_ca, place, ready, somebody with context %}
{%- if not ssh_ca.env %}

ssh_ca-no-environment:
  test.nop:
    - name: this machine has no environment (pillar ssh_ca:env), so nothing is done
{%- elif ssh_ca.trouble %}

ssh_ca-not-used:
  test.fail_without_changes:
    - comment: {{ ssh_ca.trouble | json }}
{%- elif not somebody %}

ssh_ca-nobody-gets-in:
  test.fail_without_changes:
    - comment: authorized_keys is false and no login has a role, so nobody could get in (pillar ssh_ca:logins)
{%- elif not ready %}

ssh_ca-no-authorities:
  test.fail_without_changes:
    - comment: pillar ssh_ca has no user_authorities or no revoked; is `ssh_ca` in ext_pillar?
{%- else %}

ssh_ca-folder:
  file.directory:
    - name: {{ place }}
    - user: root
    - group: {{ ssh_ca.root_group }}
    - mode: '0755'

ssh_ca-user-authorities:
  file.managed:
    - name: {{ place }}/user_ca.pub
    - contents: {{ ssh_ca.user_authorities | json }}
    - user: root
    - group: {{ ssh_ca.root_group }}
    - mode: '0644'
    - check_cmd: ssh-keygen -l -f
    - require:
      - file: ssh_ca-folder
{%- set list = place ~ "/revoked.krl" %}

# sshd refuses all logins if it cannot read the list: the new file is checked before it replaces the old one.
ssh_ca-revoked-as-text:
  file.managed:
    - name: {{ list }}.base64
    - contents: {{ ssh_ca.revoked | json }}
    - user: root
    - group: {{ ssh_ca.root_group }}
    - mode: '0644'
    - require:
      - file: ssh_ca-folder

ssh_ca-revoked:
  cmd.run:
    - name: >-
        umask 022 && base64 -d < {{ list }}.base64 > {{ list }}.new && ssh-keygen -Q -l -f {{ list }}.new > /dev/null
        && sync && mv -f {{ list }}.new {{ list }}
    - unless: base64 -d < {{ list }}.base64 | cmp -s - {{ list }}
    - require:
      - file: ssh_ca-revoked-as-text

{%- for login in (ssh_ca.logins.keys() | list + ssh_ca.principals.keys() | list) | unique | sort
    if ssh_ca.logins.get(login) or ssh_ca.principals.get(login) %}

ssh_ca-principals-of-{{ login }}:
  file.managed:
    - name: {{ place }}/principals/{{ login }}
    - contents:
{%- for role in ssh_ca.logins.get(login) or [] %}
      - {{ (ssh_ca.env ~ "-" ~ role) | json }}
{%- endfor %}
{%- for name in ssh_ca.principals.get(login) or [] %}
      - {{ name | json }}
{%- endfor %}
    - user: root
    - group: {{ ssh_ca.root_group }}
    - mode: '0644'
    - makedirs: true
    - require:
      - file: ssh_ca-folder
    - require_in:
      - file: ssh_ca-principals
{%- endfor %}

# Principals of logins without roles are removed.
ssh_ca-principals:
  file.directory:
    - name: {{ place }}/principals
    - user: root
    - group: {{ ssh_ca.root_group }}
    - mode: '0755'
    - clean: true
    - require:
      - file: ssh_ca-folder
{%- endif %}
