# -*- coding: utf-8 -*-
# vim: ft=sls
# Host keys and host certificates of the target, and the hosts that it knows.
{%- from tpldir ~ "/map.jinja" import ssh_ca, ready with context %}

include:
  - .users
{%- if ready %}
{%- for kind in ssh_ca.host_key_types %}

ssh_ca-host-key-{{ kind }}:
  cmd.run:
    - name: ssh-keygen -q -t {{ kind }} -N '' -f {{ ssh_ca.conf_dir }}/ssh_host_{{ kind }}_key
    - creates: {{ ssh_ca.conf_dir }}/ssh_host_{{ kind }}_key
{%- endfor %}
{%- for kind, certificate in ssh_ca.host_certificates | dictsort %}
{%- set key = ssh_ca.conf_dir ~ "/ssh_host_" ~ kind ~ "_key" %}
{%- set same = 'test "$(ssh-keygen -l -f "$1" | cut -d" " -f2)" = "$(ssh-keygen -l -f ' ~ key ~ '.pub | cut -d" " -f2)"' %}

# Only for the existing key: after a reinstallation the new key must be signed.
ssh_ca-host-certificate-{{ kind }}:
  file.managed:
    - name: {{ key }}-cert.pub
    - contents: {{ certificate | json }}
    - user: root
    - group: {{ ssh_ca.root_group }}
    - mode: '0644'
    - check_cmd: {{ ("sh -c '" ~ same ~ "' sh") | json }}
{%- if kind in ssh_ca.host_key_types %}
    - require:
      - cmd: ssh_ca-host-key-{{ kind }}
{%- endif %}
{%- endfor %}
{%- if ssh_ca.manage_known_hosts and ssh_ca.known_hosts %}

ssh_ca-known-hosts:
  file.managed:
    - name: {{ ssh_ca.conf_dir }}/ssh_known_hosts2
    - contents: {{ ssh_ca.known_hosts | json }}
    - user: root
    - group: {{ ssh_ca.root_group }}
    - mode: '0644'
{%- endif %}
{%- endif %}
