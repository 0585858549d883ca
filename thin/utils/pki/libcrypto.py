"""Signatures of ed25519 and ed448 by the library libcrypto, if openssl(1) is older than 3.0 and cannot make them."""

from thin.exceptions import CommandExecutionError

_NAMES = ("libcrypto.so.1.1", "libcrypto.1.1.dylib", "libcrypto.so.111")
_TOO_OLD = "the openssl here signs and verifies with no keys of ed25519 and ed448: that takes OpenSSL 3.0 or newer"


def _library():
    try:
        import ctypes
    except ImportError:
        raise CommandExecutionError(_TOO_OLD)
    for name in _NAMES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        for function, result, arguments in (
            ("d2i_AutoPrivateKey", pointer, [pointer, pointer, ctypes.c_long]),
            ("d2i_PUBKEY", pointer, [pointer, pointer, ctypes.c_long]),
            ("EVP_MD_CTX_new", pointer, []),
            ("EVP_MD_CTX_free", None, [pointer]),
            ("EVP_PKEY_free", None, [pointer]),
            ("EVP_DigestSignInit", ctypes.c_int, [pointer] * 5),
            ("EVP_DigestSign", ctypes.c_int, [pointer, pointer, ctypes.POINTER(size), ctypes.c_char_p, size]),
            ("EVP_DigestVerifyInit", ctypes.c_int, [pointer] * 5),
            ("EVP_DigestVerify", ctypes.c_int, [pointer, ctypes.c_char_p, size, ctypes.c_char_p, size]),
        ):
            entry = getattr(library, function)
            entry.restype, entry.argtypes = result, arguments
        return ctypes, library
    raise CommandExecutionError(_TOO_OLD)


def _key(ctypes, read, data):
    held = ctypes.create_string_buffer(data, len(data))
    key = read(None, ctypes.byref(ctypes.c_void_p(ctypes.addressof(held))), len(data))
    if not key:
        raise CommandExecutionError("libcrypto could not read the key")
    return key


def sign(pkcs8, data):
    """The signature (bytes) of a private key (DER). Raises CommandExecutionError."""
    ctypes, library = _library()
    key = _key(ctypes, library.d2i_AutoPrivateKey, pkcs8)
    context = library.EVP_MD_CTX_new()
    try:
        size = ctypes.c_size_t(256)
        out = ctypes.create_string_buffer(size.value)
        if (
            library.EVP_DigestSignInit(context, None, None, None, key) != 1
            or library.EVP_DigestSign(context, out, ctypes.byref(size), data, len(data)) != 1
        ):
            raise CommandExecutionError("libcrypto could not sign")
        return out.raw[: size.value]
    finally:
        library.EVP_MD_CTX_free(context)
        library.EVP_PKEY_free(key)


def verify(spki, signature, data):
    """Whether the private key of a public key (DER) signed the data. Raises CommandExecutionError."""
    ctypes, library = _library()
    key = _key(ctypes, library.d2i_PUBKEY, spki)
    context = library.EVP_MD_CTX_new()
    try:
        return (
            library.EVP_DigestVerifyInit(context, None, None, None, key) == 1
            and library.EVP_DigestVerify(context, signature, len(signature), data, len(data)) == 1
        )
    finally:
        library.EVP_MD_CTX_free(context)
        library.EVP_PKEY_free(key)
