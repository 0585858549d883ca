from typing import Any

ACL_ID: str
ACL_DATA: str

def parse(given: Any) -> tuple[str | None, list[Any], dict[str, Any], str | None, str | None]: ...
def wrapped(value: Any, allow_tgt: Any = None, allow_tgt_type: Any = None) -> Any: ...
