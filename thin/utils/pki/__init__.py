"""Keys, certificates, requests and revocation lists: read and built here, signed and encrypted by openssl(1)."""
