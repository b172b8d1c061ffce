from typing import final

@final
class Template:
    key: str
