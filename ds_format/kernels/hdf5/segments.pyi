from typing import final

@final
class Segments: ...
