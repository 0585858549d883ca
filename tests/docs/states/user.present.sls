ada:
  user.present:
    - fullname: Ada Lovelace
    - shell: /bin/bash
    - home: /home/ada
    - optional_groups: [sudo, wheel]
    - remove_groups: false
    - password_lock: true
