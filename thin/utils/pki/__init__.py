"""Keys, certificates, requests and revocation lists: parsed and built in Python, signed and encrypted by openssl(1)."""
