from typing import Any, final

from numpy.typing import NDArray

@final
class Finisher:
    @property
    def arguments(self) -> tuple[Any, ...]: ...
    @property
    def kind(self) -> int: ...
    @property
    def sought(self) -> NDArray[Any] | None: ...
    def __init__(
        self,
        kind: str,
        sought: NDArray[Any] | None,
        mark: bytes | str | None,
        is_text: bool,
        is_joined: bool,
        packing: tuple[Any, Any, Any] | None,
    ) -> None: ...
    def apply(self, array: NDArray[Any], found: bool, masked: bool) -> Any: ...
