from typing import Final, final

__pyx_capi__: Final[dict[str, object]]

class Unusual(Exception): ...

@final
class Names: ...
