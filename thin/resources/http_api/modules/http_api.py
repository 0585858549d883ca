"""Requests to an endpoint. Paths are relative to the declared URL; requests and responses are JSON."""

#: Functions that templates cannot call in a dry run.
__changes__ = ("post", "put", "patch", "delete", "query")
__reads__ = ("get", "find")


def get(path="", **params):
    """
    Get a path; returns the response

    path
        Below the endpoint's URL.
    params
        Further arguments are the query of the URL.

    CLI Example:

    .. code-block:: bash

        pushsalt run -C 'T@http_api:crm' http_api.get /customers limit=5
    """
    return query(path, params={name: params[name] for name in params if not name.startswith("__")})


def post(path="", data=None):
    """
    Post data to a path; returns the response

    CLI Example:

    .. code-block:: bash

        pushsalt run -C 'T@http_api:crm' http_api.post /customers data='{name: Ann}'
    """
    return query(path, "POST", data)


def put(path="", data=None):
    """Put data at a path; returns the response"""
    return query(path, "PUT", data)


def patch(path="", data=None):
    """Patch the data at a path; returns the response"""
    return query(path, "PATCH", data)


def delete(path=""):
    """Delete the data at a path; returns the response"""
    return query(path, "DELETE")


def find(path=""):
    """Get a path; returns None if it does not exist (404, 410)"""
    answer = __resource_funcs__["http_api.query"](path, raise_error=False)
    if answer["status"] in (404, 410):
        return None
    return query(path) if "error" in answer else answer["data"]


def query(path="", method="GET", data=None, params=None):
    """Send any request; returns the response. An error response raises CommandExecutionError"""
    return __resource_funcs__["http_api.query"](path, method, data, params)["data"]
