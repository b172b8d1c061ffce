from typing import Any, final

@final
class Memory: ...

@final
class Entry: ...

@final
class Attributes: ...

@final
class Values:
    def __init__(
        self, type_record: type, attribute_record: type, filter_record: type, numbers: Any, netcdf: bool
    ) -> None: ...
