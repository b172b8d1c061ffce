from typing import final

@final
class Original: ...

@final
class Template:
    key: str
