from typing import Any

TEXT_LIMIT: int
CUT: str

def texts(value: Any) -> Any: ...
