webteam:
  group.present:
    - gid: 3100
    - system: false
    - addusers: [root]
