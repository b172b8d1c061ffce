from typing import final

@final
class Type: ...
