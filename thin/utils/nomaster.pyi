from typing import NoReturn

ONLY_IN_ORCHESTRATION: str

def refuse(name: str, instead: str) -> NoReturn: ...
