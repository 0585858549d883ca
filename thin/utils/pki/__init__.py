"""Keys, certificates, requests and revocation lists: read and built in Python, signed and encrypted by openssl(1)."""
