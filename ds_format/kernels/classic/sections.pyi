from typing import Final, final

__pyx_capi__: Final[dict[str, object]]

@final
class Section: ...

@final
class Values:
    def __init__(self, codes: tuple[str, ...]) -> None: ...
