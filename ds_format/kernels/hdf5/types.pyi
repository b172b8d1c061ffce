from typing import Final, final

__pyx_capi__: Final[dict[str, object]]

@final
class Type: ...
