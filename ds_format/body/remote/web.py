"""Web servers, by urllib3.

Redirects are followed here, hop by hop, since each host gets its own credentials: the given ones only the host of the
address, others those in `.netrc`. A sign-in on another host that leads back with a cookie works so.
"""

from __future__ import annotations

import errno
import functools
import http.cookiejar
import netrc
import os
import re
import threading
import urllib.parse
import urllib.request
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...base.optional import library
from ...base.text import hint, on_one_line
from ...base.threads import renew_lock
from .settings import current
from .stores import EXTRA, Answer, TemporaryFailure, first_line

MAX_REDIRECTS = 10
MAX_SESSIONS = 64
"""Sessions that are kept; each has connections to its hosts, and cookies."""
CONNECTIONS = 64
"""Idle connections to one host that are kept."""
STREAM_SIZE = 1 << 20
"""Bytes that are taken from a connection at once."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Status codes after which repeating a request may help."""
PROXY_VARIABLES = [
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    "REQUEST_METHOD",
]
"""Variables of the environment that `urllib.request.getproxies` uses for web servers."""
CERTIFICATES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Variables of the environment that may name a file of certificates, or a folder as made by `c_rehash`."""
UNTRUSTED = "; if you trust the server, name the file of its certificate by the option ca_certs or SSL_CERT_FILE"
OPTIONS = ("headers", "token", "auth", "cookies", "ca_certs", "client_kwargs")
"""Keys of `storage_options`; the last one is the name that fsspec has for a dict of the others."""


class Session:
    """Connections, cookies and credentials of one process for all addresses with the same options.

    Parameters
    ----------
    options : mapping
        `storage_options`: `headers` (dict), `token` (a bearer token), `auth` (user and password), `cookies` (a dict, or
        a jar of `http.cookiejar`), `ca_certs` (a file of certificates).

    Raises
    ------
    ValueError
        If an option does not exist.
    """

    def __init__(self, options: Mapping[str, Any]):
        given = {**options.get("client_kwargs", {}), **options}
        given.pop("client_kwargs", None)
        for name in given:
            if name not in OPTIONS:
                raise ValueError(f"storage_options: found {name!r}, expected {', '.join(OPTIONS)}{hint(name, OPTIONS)}")
        self.urllib3 = library("urllib3", EXTRA, "addresses of web servers")
        headers = self.urllib3.HTTPHeaderDict(given.get("headers"))
        if given.get("token") is not None:
            headers["Authorization"] = f"Bearer {given['token']}"
        if given.get("auth") is not None:
            user, password = given["auth"]
            headers["Authorization"] = _basic(self.urllib3, user, password)
        self.headers: Mapping[str, str] = headers
        cookies = given.get("cookies")
        self.jar = cookies if isinstance(cookies, http.cookiejar.CookieJar) else http.cookiejar.CookieJar()
        self.cookies: Mapping[str, str] = {} if cookies is None or cookies is self.jar else cookies
        found = {name: os.environ[name] for name in CERTIFICATES if os.environ.get(name)}
        if given.get("ca_certs") is not None:
            found = {"ca_certs": os.fspath(given["ca_certs"])}
        self._certificates = next(iter(found.items()), None)
        self._pools: dict[str | None, Any] = {}
        self._lock = threading.Lock()
        renew_lock(self, threading.Lock)

    def check_certificates(self, url: str) -> None:
        """Raise an OSError if the certificates for an address do not exist: urllib3 does not name them."""
        if url.startswith("https:") and self._certificates is not None and not os.path.exists(self._certificates[1]):
            raise OSError(errno.EINVAL, "{}: certificates not found: {}".format(*self._certificates))

    def pool(self, url: str) -> Any:
        """Return the pool of connections for an address: directly, or through the proxy of the environment."""
        parts = urllib.parse.urlsplit(url)
        proxy = _proxy_of(parts.scheme, parts.netloc, *map(os.environ.get, PROXY_VARIABLES))
        with self._lock:
            found = self._pools.get(proxy)
            if found is None:
                found = self._pools[proxy] = self._make_pool(proxy)
        return found

    def _make_pool(self, proxy: str | None) -> Any:
        certificates = {}
        if self._certificates is not None:
            path = self._certificates[1]
            certificates["ca_cert_dir" if os.path.isdir(path) else "ca_certs"] = path
        if proxy is None:
            return self.urllib3.PoolManager(maxsize=CONNECTIONS, **certificates)
        if proxy.startswith("socks"):
            socks = library("urllib3.contrib.socks", "urllib3[socks]", f"the proxy {_without_user(proxy)}")
            return socks.SOCKSProxyManager(proxy, maxsize=CONNECTIONS, **certificates)
        proxy = proxy if "://" in proxy else f"http://{proxy}"
        user = urllib.parse.urlsplit(proxy)
        headers = {}
        if user.username is not None:
            value = _basic(self.urllib3, urllib.parse.unquote(user.username), urllib.parse.unquote(user.password or ""))
            headers["Proxy-Authorization"] = value
        return self.urllib3.ProxyManager(
            _without_user(proxy), maxsize=CONNECTIONS, proxy_headers=headers, **certificates
        )


@functools.lru_cache(maxsize=256)
def _proxy_of(scheme: str, host: str, *environment: str | None) -> str | None:
    """Return the proxy for a host, or None. Finding it takes longer than sending a request, so it is remembered."""
    proxies = urllib.request.getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    return None if proxy is None or urllib.request.proxy_bypass(host.rpartition("@")[2]) else proxy


_sessions: dict[tuple[int, str], Session] = {}


def session_of(options: Mapping[str, Any]) -> Session:
    """Return the session of this process for some options. A forked process does not share connections."""
    key = os.getpid(), repr(sorted(options.items(), key=lambda item: item[0]))
    found = _sessions.get(key)
    if found is None:
        if len(_sessions) >= MAX_SESSIONS:
            _sessions.clear()
        found = _sessions.setdefault(key, Session(options))
    return found


class _Range(NamedTuple):
    """Which bytes of which file are in an answer."""

    start: int
    stop: int
    size: int


class HttpStore:
    """A file on a web server; see `stores.Store`.

    Parameters
    ----------
    url : str
    options : mapping
        See `Session`.
    name : str
        For messages.
    """

    def __init__(self, url: str, options: Mapping[str, Any], name: str):
        self.name = name
        self._session = session_of(options)
        parts = urllib.parse.urlsplit(url)
        self._credentials = None if parts.username is None else (parts.username, parts.password or "")
        self._url = urllib.parse.urldefrag(_without_user(url)).url
        self._moved = self._url
        """Where redirects led the last time."""

    def first(self, size: int) -> Answer:
        """Return the first bytes, or the whole file if the server does not support ranges."""
        response = self._request(f"bytes=0-{size - 1}")
        try:
            if response.status == 416:
                self._end(response)
                return Answer(bytearray(), 0, _version(response))
            if response.status == 206:
                found = self._range(response, 0)
                data = self._take(response, found.stop)
                if len(data) < min(size, found.size):
                    raise TemporaryFailure(f"the answer has {len(data)} bytes, expected {min(size, found.size)}")
                return Answer(data, found.size, _version(response))
            length = _length(response)
            if length is None or length > size:
                many = "all bytes" if length is None else f"all {length} bytes"
                message = (
                    f"{self.name}: the server does not support ranges, so {many} are read for any part of the file"
                )
                warnings.warn(on_one_line(message), stacklevel=2)
            data = self._take(response, None)
            if length is not None and len(data) < length:
                raise TemporaryFailure(f"the answer has {len(data)} bytes, expected {length}")
            return Answer(data, len(data), _version(response))
        finally:
            response.close()

    def last(self, size: int) -> tuple[int, Answer] | None:
        """Return the last bytes."""
        response = self._request(f"bytes=-{size}")
        try:
            if response.status != 206:
                return None
            found = self._range(response, None)
            data = self._take(response, found.stop - found.start)
            if found.stop != found.size or len(data) != found.stop - found.start:
                return None
            return found.start, Answer(data, found.size, _version(response))
        finally:
            response.close()

    def get(self, start: int, stop: int) -> Answer:
        """Return a range of bytes."""
        response = self._request(f"bytes={start}-{stop - 1}")
        try:
            if response.status == 206:
                found = self._range(response, start)
                data = self._take(response, min(found.stop, stop) - start)
                size: int | None = found.size
            elif response.status == 416:
                self._end(response)
                sizes = re.fullmatch(r"bytes \*/(\d+)", response.headers.get("Content-Range", ""))
                return Answer(b"", int(sizes[1]) if sizes else 0, _version(response))
            else:  # servers may answer with the whole file where a range has all of it
                data = self._take(response, stop)[start:]
                size = _length(response)
            if not data:
                raise TemporaryFailure("the answer is empty")
            return Answer(data, size, _version(response))
        finally:
            response.close()

    def now(self) -> None:
        """Return None: each answer has size and version."""

    def _request(self, span: str) -> Any:
        """Request a range, follow redirects, and return a response with data, or one with the status 416."""
        url = self._moved
        try:
            response = self._followed(url, span)
        except (FileNotFoundError, PermissionError):
            if url == self._url:
                raise
            self._moved = self._url  # an address to which a redirect led may expire
            response = self._followed(self._url, span)
        return response

    def _followed(self, url: str, span: str) -> Any:
        for _ in range(MAX_REDIRECTS):
            response = self._sent(url, span)
            if response.status not in REDIRECTS or "Location" not in response.headers:
                self._check(response)
                self._moved = url
                return response
            self._end(response)
            response.close()
            url = urllib.parse.urldefrag(urllib.parse.urljoin(url, response.headers["Location"])).url
            if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
                raise OSError(None, f"redirected to {_plain(url)}, expected http or https")
        raise OSError(None, f"more than {MAX_REDIRECTS} redirects")

    def _sent(self, url: str, span: str) -> Any:
        """Send one request, with those credentials that belong to its host."""
        session, settings = self._session, current()
        session.check_certificates(url)
        headers = self._headers(url)
        headers["Range"] = span
        headers["Accept-Encoding"] = "identity"
        seconds = settings.timeout / (settings.retries + 1)
        if len(session.jar):
            asked = urllib.request.Request(url)
            session.jar.add_cookie_header(asked)
            found = [asked.get_header("Cookie"), headers.pop("Cookie", None)]
            if any(found):
                headers["Cookie"] = "; ".join(cookie for cookie in found if cookie)
        try:
            response = session.pool(url).request(
                "GET",
                url,
                headers=headers,
                timeout=session.urllib3.Timeout(connect=seconds, read=seconds),
                redirect=False,
                retries=False,
                preload_content=False,
                decode_content=False,
            )
        except session.urllib3.exceptions.SSLError as error:
            advice = UNTRUSTED if "CERTIFICATE_VERIFY_FAILED" in str(error) else ""
            raise OSError(None, f"{self._plain_message(error)}{advice}") from error
        except session.urllib3.exceptions.LocationValueError as error:
            raise OSError(None, self._plain_message(error)) from error
        except (session.urllib3.exceptions.HTTPError, OSError) as error:
            raise TemporaryFailure(self._plain_message(error)) from error
        if "Set-Cookie" in response.headers:
            session.jar.extract_cookies(_Headers(response.headers), urllib.request.Request(url))  # type: ignore[arg-type]
        return response

    def _headers(self, url: str) -> dict[str, str]:
        """Return the headers for one host: given ones for that of the address, otherwise credentials of `.netrc`."""
        headers = {"User-Agent": "ds_format"}
        if _is_same_host(url, self._url):
            headers.update(self._session.headers)
            if self._session.cookies:
                given = [f"{name}={value}" for name, value in self._session.cookies.items()]
                headers["Cookie"] = "; ".join([*given, *([headers["Cookie"]] if "Cookie" in headers else [])])
            if self._credentials is not None:
                headers["Authorization"] = _basic(self._session.urllib3, *map(urllib.parse.unquote, self._credentials))
        if not any(name.lower() == "authorization" for name in headers):
            found = _from_netrc(urllib.parse.urlsplit(url).hostname or "")
            if found is not None:
                headers["Authorization"] = _basic(self._session.urllib3, *found)
        return headers

    def _check(self, response: Any) -> None:
        """Raise the error of a response that has no data."""
        status = response.status
        if status in (200, 206, 416):
            if status == 206 and response.headers.get("Content-Encoding", "identity") != "identity":
                response.close()
                raise OSError(None, f"the answer is compressed ({response.headers['Content-Encoding']})")
            return
        self._end(response)
        response.close()
        message = f"HTTP status {status} {response.reason or ''}".rstrip()
        if status in (404, 410):
            raise FileNotFoundError(None, message)
        if status in (401, 403, 407):
            raise PermissionError(None, message)
        if status in BUSY:
            wait = response.headers.get("Retry-After", "")
            raise TemporaryFailure(message, float(wait) if wait.isdecimal() else None)
        raise OSError(None, message)

    def _range(self, response: Any, start: int | None) -> _Range:
        """Return which bytes an answer has.

        Raises
        ------
        OSError
            If these are not those that were requested.
        """
        header = response.headers.get("Content-Range", "")
        found = re.fullmatch(r"\s*bytes\s+(\d+)-(\d+)/(\d+)\s*", header)
        if found is None:
            raise OSError(None, f"Content-Range: found {header!r}, expected a range with the size of the file")
        first, last, size = map(int, found.groups())
        if not first <= last < size or (start is not None and first != start):
            raise OSError(None, f"Content-Range: found {header!r}, expected bytes from {start or 0} on")
        return _Range(first, last + 1, size)

    def _take(self, response: Any, most: int | None) -> bytearray:
        """Return the bytes of an answer, up to `most`: as many as came, if the connection is lost."""
        data = bytearray()
        encoded = response.headers.get("Content-Encoding", "identity") != "identity"
        try:
            for chunk in response.stream(STREAM_SIZE, decode_content=encoded):
                data += chunk
                if most is not None and len(data) >= most:
                    break
        except (self._session.urllib3.exceptions.HTTPError, OSError) as error:
            if not data:
                raise TemporaryFailure(self._plain_message(error)) from error
        if most is not None and len(data) > most:
            del data[most:]
        if most is not None and len(data) == most:
            self._end(response)
        return data

    def _end(self, response: Any) -> None:
        """Read what is left of a short answer, so that the connection can be used again."""
        try:
            if (response.length_remaining or 0) <= STREAM_SIZE:
                response.drain_conn()
        except (self._session.urllib3.exceptions.HTTPError, OSError):
            response.close()

    def _plain_message(self, error: BaseException) -> str:
        """Return the message of an exception without the query of the address."""
        message = first_line(error)
        exceptions = self._session.urllib3.exceptions
        if isinstance(error, exceptions.TimeoutError) and not isinstance(error, exceptions.NewConnectionError):
            return "no answer in time"
        query = urllib.parse.urlsplit(self._url).query
        return message.replace(f"?{query}", "") if query else message


class _Headers:
    """The headers of a response, as a jar of cookies wants them."""

    def __init__(self, headers: Any):
        self._headers = headers

    def info(self) -> _Headers:
        """Return the headers."""
        return self

    def get_all(self, name: str, default: Any = None) -> Any:
        """Return all values of a header."""
        return self._headers.getlist(name) or default


def _version(response: Any) -> str | None:
    """Return the ETag; the mark of a weak one counts, since two contents may have it only if it stays the same."""
    found = response.headers.get("ETag") or response.headers.get("Last-Modified")
    return None if found is None else str(found)


def _length(response: Any) -> int | None:
    """Return the size of the file in an answer with all of it."""
    length = response.headers.get("Content-Length", "")
    encoded = response.headers.get("Content-Encoding", "identity") != "identity"
    return int(length) if length.isdecimal() and not encoded else None


def _basic(urllib3: Any, user: str, password: str) -> str:
    header: str = urllib3.make_headers(basic_auth=f"{user}:{password}")["authorization"]
    return header


def _from_netrc(host: str) -> tuple[str, str] | None:
    """Return user and password of a host in the file `.netrc`."""
    path = os.environ.get("NETRC") or os.path.expanduser("~/.netrc")
    try:
        status = os.stat(path)
        found = _netrc(path, status.st_mtime_ns, status.st_size).authenticators(host)
    except (OSError, netrc.NetrcParseError):
        return None
    return None if found is None else (found[0], found[2] or "")


@functools.lru_cache(maxsize=4)
def _netrc(path: str, mtime: int, size: int) -> netrc.netrc:
    return netrc.netrc(path)


def _origin(url: str) -> tuple[str, str, int]:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)


def _is_same_host(url: str, given: str) -> bool:
    """Return whether an address may get the credentials of another: the same host, or the same one, now encrypted."""
    if url == given:
        return True
    one, other = _origin(url), _origin(given)
    return one == other or (one == ("https", other[1], 443) and other == ("http", other[1], 80))


def _without_user(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _plain(url: str) -> str:
    return urllib.parse.urlsplit(_without_user(url))._replace(query="", fragment="").geturl()
