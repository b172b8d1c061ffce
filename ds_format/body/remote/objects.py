"""Buckets, by obstore, and files in any store with the interface `Get` of obspec."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...base.optional import library
from ...errors import plain_name
from .settings import current
from .stores import EXTRA, Answer, FileRecord, call_library, interruptible

SCHEMES = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "abfs", "abfss": "abfss"}
"""Schemes of addresses of buckets, and those that obstore knows for them."""
KEYS = {
    "key": "access_key_id",
    "secret": "secret_access_key",
    "token": "token",
    "anon": "skip_signature",
    "endpoint_url": "endpoint",
    "region_name": "region",
    "profile": "profile",
}
"""Names of options that s3fs and others have → those of obstore."""
CONNECTION = {
    "AccountName": "account_name",
    "AccountKey": "account_key",
    "SharedAccessSignature": "sas_token",
    "BlobEndpoint": "endpoint",
}
"""Fields of a connection string of Azure → options of obstore."""


def bucket_store(url: str, options: Mapping[str, Any], timeout: float | None = None) -> tuple[Any, str]:
    """Return a store of obstore for the bucket of an address, and the path of the file in it.

    Parameters
    ----------
    url : str
    options : mapping
        Those of obstore, or those that s3fs, gcsfs and adlfs have for credentials, endpoint and region.
    timeout : float, optional
        Seconds that a request may take, by default those of the settings.

    Raises
    ------
    OSError
        If obstore does not know an option.
    """
    obstore = library("obstore.store", EXTRA, "addresses of buckets")
    scheme, _, rest = url.partition("://")
    bucket, _, path = rest.partition("/")
    given = {**options.get("client_kwargs", {}), **options}
    given.pop("client_kwargs", None)
    known = SCHEMES[scheme.lower()]
    if known == "gs":
        given = _of_gcsfs(given)
    elif known != "s3":
        given = _of_adlfs(given)
    config = {KEYS.get(name, name): value for name, value in given.items()}
    seconds = f"{timeout or current().timeout:g}s"
    client: dict[str, Any] = {"timeout": seconds, "connect_timeout": seconds, **config.pop("client_options", {})}
    if str(config.get("endpoint", config.get("base_url", ""))).startswith("http://"):
        client["allow_http"] = True

    def connect() -> Any:
        address = f"{known}://{bucket}"
        # requests are repeated by us, within the time allowed
        return obstore.from_url(address, client_options=client, retry_config={"max_retries": 0}, **config)

    store = call_library({**config, "url": url}, connect, plain_name(url))
    return store, path


def _of_gcsfs(options: dict[str, Any]) -> dict[str, Any]:
    """Return options for Google, of which some may be those of gcsfs."""
    found = {name: value for name, value in options.items() if name not in ("token", "project", "endpoint_url")}
    token = options.get("token")
    if token == "anon":
        found["skip_signature"] = True
    elif isinstance(token, Mapping):
        found["service_account_key"] = json.dumps(dict(token))
    elif token is not None and token not in ("google_default", "cloud"):  # which are looked for anyway
        found["application_credentials"] = token
    if "endpoint_url" in options:
        found["base_url"] = options["endpoint_url"]
    return found


def _of_adlfs(options: dict[str, Any]) -> dict[str, Any]:
    """Return options for Azure, of which one may be a connection string, as adlfs takes it."""
    found = {name: value for name, value in options.items() if name != "connection_string"}
    fields = (part.partition("=") for part in str(options.get("connection_string", "")).split(";"))
    return {CONNECTION[name]: value for name, _, value in fields if name in CONNECTION} | found


def objects_below(store: Any, path: str, *, recursive: bool) -> Iterator[FileRecord]:
    """Yield the objects below a path in a store; see `RemoteAddress.listed`.

    Parameters
    ----------
    store : obspec.List
    path : str
    recursive : bool
    """
    top = path.rstrip("/")
    start = len(top) + 1 if top else 0

    def listed() -> Any:
        if recursive or not hasattr(store, "list_with_delimiter"):
            return [one for some in store.list(top or None) for one in some]
        return store.list_with_delimiter(top or None)["objects"]

    found = call_library(store, lambda: interruptible(listed))
    for one in found:
        name = one["path"][start:]
        if name and not name.endswith("/") and (recursive or "/" not in name):
            yield FileRecord(name, *_size_and_version(one))


class ObjectStore:
    """A file in a store with the method `get`; see `stores.Store`.

    Parameters
    ----------
    store : obspec.Get
    path : str
        Path of the file in the store.
    """

    def __init__(self, store: Any, path: str):
        self._store = store
        self._path = path

    def first(self, size: int) -> Answer:
        """Return the first bytes."""
        try:
            return self._answer(lambda: self._get((0, size)))
        except OSError as error:
            if "range" not in str(error).lower():
                raise
            # a range of an empty file does not exist
            answer = self._answer(self._meta)
            if answer.size:
                raise
            return answer

    def last(self, size: int) -> None:
        """Return None: not all stores can count from the end."""

    def get(self, start: int, stop: int) -> Answer:
        """Return a range of bytes."""
        return self._answer(lambda: self._get((start, stop)))

    def now(self) -> None:
        """Return None: each answer has size and version."""

    def _get(self, span: tuple[int, int]) -> Answer:
        result = self._store.get(self._path, options={"range": span})
        facts = _size_and_version(result.meta)  # obstore 0.6 has none after the bytes were taken
        most = span[1] - span[0]
        return Answer(memoryview(_buffer(result, most))[:most], *facts)

    def _meta(self) -> Answer:
        head = getattr(self._store, "head", None)
        meta = self._store.get(self._path).meta if head is None else head(self._path)
        return Answer(b"", *_size_and_version(meta))

    def _answer(self, request: Callable[[], Answer]) -> Answer:
        return call_library(self._store, lambda: interruptible(request))


def _buffer(result: Any, most: int) -> Any:
    """Return the bytes of a result. obstore passes on all bytes that a server sends, so these are counted."""
    if hasattr(result, "stream"):
        pieces, size = [], 0
        for piece in result.stream():
            pieces.append(piece)
            size += len(piece)
            if size >= most:
                break
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)
    data = result.bytes() if hasattr(result, "bytes") else result.buffer()
    return data if isinstance(data, (bytes, bytearray, memoryview)) else memoryview(data)


def _size_and_version(meta: Mapping[str, Any]) -> tuple[int, str]:
    version = meta.get("e_tag") or meta.get("version") or meta.get("last_modified")
    return int(meta["size"]), "" if version is None else str(version)
