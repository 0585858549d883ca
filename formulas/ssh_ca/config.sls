# -*- coding: utf-8 -*-
# vim: ft=sls
# The configuration of sshd. The new lines, followed by the existing configuration, are checked before they are used.
{%- from tpldir ~ "/map.jinja" import ssh_ca, place, config, ready with context %}

include:
  - .users
  - .hosts
{%- if ready %}
{%- set folder = ssh_ca.conf_dir ~ "/sshd_config.d" %}
{%- set try = 'cat "$1" ' ~ config ~ ' | ' ~ ssh_ca.program ~ ' -t -f /dev/stdin' %}
{%- set effective = ssh_ca.program ~ " -T -f " ~ config ~ " -C user=root,host=localhost,addr=127.0.0.1" %}
{%- if ssh_ca.include %}

ssh_ca-include:
  file.prepend:
    - name: {{ config }}
    - text: Include {{ folder }}/*.conf
{%- endif %}

ssh_ca-config:
  file.managed:
    - name: {{ folder }}/10-ssh_ca.conf
    - source: salt://{{ tpldir }}/files/ssh_ca.conf.jinja
    - template: jinja
    - user: root
    - group: {{ ssh_ca.root_group }}
    - mode: '0600'
    - makedirs: true
    - check_cmd: {{ ("sh -c '" ~ try ~ "' sh") | json }}
    - context:
        ssh_ca: {{ ssh_ca | json }}
        place: {{ place }}
    - require:
      - file: ssh_ca-user-authorities
      - file: ssh_ca-principals
      - cmd: ssh_ca-revoked
{%- if ssh_ca.include %}
      - file: ssh_ca-include
{%- endif %}

ssh_ca-in-force:
  cmd.run:
    - name: >-
        echo '{{ config }} does not include {{ folder }}/*.conf before its other settings, or sets TrustedUserCAKeys itself:
        make `Include {{ folder }}/*.conf` its first line, or set pillar ssh_ca:include to true' >&2; exit 1
    - unless: {{ (effective ~ " | grep -qix 'trustedusercakeys " ~ place ~ "/user_ca.pub'") | json }}
    - require:
      - file: ssh_ca-config
{%- endif %}
