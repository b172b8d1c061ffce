"""Connections, cookies and credentials for web servers, and which of them a request may have."""

from __future__ import annotations

import base64
import errno
import functools
import http.cookiejar
import netrc
import os
import re
import threading
import urllib.request
from collections.abc import Mapping
from typing import Any

from ...base.optional import library
from ...base.text import hint
from ...base.threads import renew_lock
from .connections import with_own_connections
from .stores import EXTRA, key_of
from .urls import WebUrl, parse_url

MAX_SESSIONS = 64
"""Sessions that are kept; each has connections to its hosts, and cookies."""
CONNECTIONS = 64
"""Idle connections to one host that are kept."""
PROXY_VARIABLES = [
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    "REQUEST_METHOD",
]
"""Variables of the environment that `urllib.request.getproxies` uses for web servers."""
PROXIES = ("http", "https", "socks4", "socks4a", "socks5", "socks5h")
"""Schemes of proxies."""
CERTIFICATES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
"""Variables of the environment that may name a file of certificates, or a folder as made by `c_rehash`."""
OPTIONS = ("headers", "token", "auth", "cookies", "ca_certs", "client_kwargs")
"""Keys of `storage_options`; the last one is the name that fsspec has for a dict of the others."""
SENDABLE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
"""Characters that the value of a header may have."""


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
        If an option does not exist, or its value cannot be sent. The message does not contain the value.
    """

    def __init__(self, options: Mapping[str, Any]):
        given = {**options.get("client_kwargs", {}), **options}
        given.pop("client_kwargs", None)
        for name in given:
            if name not in OPTIONS:
                raise ValueError(f"storage_options: found {name!r}, expected {', '.join(OPTIONS)}{hint(name, OPTIONS)}")
        self.urllib3 = library("urllib3", EXTRA, "addresses of web servers")
        headers = self.urllib3.HTTPHeaderDict()
        for name, value in dict(given.get("headers") or {}).items():
            headers[_sendable(name, "headers")] = _sendable(value, f"headers: {name}")
        if given.get("token") is not None:
            headers["Authorization"] = f"Bearer {_sendable(given['token'], 'token')}"
        if given.get("auth") is not None:
            headers["Authorization"] = basic(*_pair(given["auth"]))
        self._headers: Mapping[str, str] = headers
        cookies = given.get("cookies")
        self._jar = cookies if isinstance(cookies, http.cookiejar.CookieJar) else http.cookiejar.CookieJar()
        chosen = {} if cookies is None or cookies is self._jar else dict(cookies)
        self._cookies = [
            f"{_sendable(name, 'cookies')}={_sendable(value, f'cookies: {name}')}" for name, value in chosen.items()
        ]
        found = {name: os.environ[name] for name in CERTIFICATES if os.environ.get(name)}
        if given.get("ca_certs") is not None:
            found = {"ca_certs": os.fspath(given["ca_certs"])}
        self._certificates = next(iter(found.items()), None)
        self._pools: dict[str | None, Any] = {}
        self._lock = threading.Lock()
        renew_lock(self, threading.Lock)

    def headers(self, url: WebUrl, given: WebUrl) -> Any:
        """Return the headers of a request to one host, with those credentials that belong to it.

        Parameters
        ----------
        url : WebUrl
            The address of the request.
        given : WebUrl
            The address that the user gave. Options are for its host.
        """
        headers, cookies = self.urllib3.HTTPHeaderDict({"User-Agent": "ds_format"}), [*self._cookies]
        is_given = url.may_have_credentials_of(given)
        if is_given:
            headers.update(self._headers)
            if given.credentials is not None:
                headers["Authorization"] = basic(*given.credentials)
        else:
            cookies.clear()
        if "Authorization" not in headers:
            # a host to which an answer redirects gets what is for this host, and not unencrypted what went encrypted
            entry = _from_netrc(url.host.strip("[]"), any_host=is_given)
            if entry is not None and (is_given or url.scheme == "https" or given.scheme == "http"):
                headers["Authorization"] = basic(*entry)
        if len(self._jar):
            asked = urllib.request.Request(str(url))
            self._jar.add_cookie_header(asked)
            cookies.insert(0, asked.get_header("Cookie") or "")
        cookies.append(headers.pop("Cookie", ""))
        if any(cookies):
            headers["Cookie"] = "; ".join(cookie for cookie in cookies if cookie)
        return headers

    def keep_cookies(self, headers: Any, url: WebUrl) -> None:
        """Keep the cookies of an answer."""
        if "Set-Cookie" in headers:
            self._jar.extract_cookies(_Headers(headers), urllib.request.Request(str(url)))  # type: ignore[arg-type]

    def pool(self, url: WebUrl) -> Any:
        """Return the pools of connections for an address: directly, or through the proxy of the environment.

        Raises
        ------
        OSError
            If the certificates do not exist, or the address of the proxy is none.
        """
        if url.scheme == "https" and self._certificates is not None and not os.path.exists(self._certificates[1]):
            # urllib3 does not name them
            raise OSError(errno.EINVAL, "{}: certificates not found: {}".format(*self._certificates))
        proxy = _proxy_of(url.scheme, url.netloc, *map(os.environ.get, PROXY_VARIABLES))
        with self._lock:
            found = self._pools.get(proxy)
            if found is None:
                found = self._pools[proxy] = with_own_connections(self._make_pool(proxy))
        return found

    def _make_pool(self, proxy: str | None) -> Any:
        options: dict[str, Any] = {"maxsize": CONNECTIONS}
        if self._certificates is not None:
            path = self._certificates[1]
            options["ca_cert_dir" if os.path.isdir(path) else "ca_certs"] = path
        if proxy is None:
            return self.urllib3.PoolManager(**options)
        variables = "the proxy of HTTP_PROXY, HTTPS_PROXY or ALL_PROXY"
        url = parse_url(proxy if "://" in proxy else f"http://{proxy}", variables, schemes=PROXIES)
        address = f"{url.scheme}://{url.netloc}"
        if url.scheme.startswith("socks"):
            socks = library("urllib3.contrib.socks", "urllib3[socks]", f"the proxy {address}")
            user, password = url.credentials or (None, None)
            return socks.SOCKSProxyManager(address, user, password, **options)
        if url.credentials is not None:
            options["proxy_headers"] = {"Proxy-Authorization": basic(*url.credentials)}
        return self.urllib3.ProxyManager(address, **options)


_sessions: dict[Any, Session] = {}


def session_of(options: Mapping[str, Any]) -> Session:
    """Return the session of this process for some options. A forked process does not share connections."""
    key = os.getpid(), key_of(options), *map(os.environ.get, CERTIFICATES)
    found = _sessions.get(key)
    if found is None:
        if len(_sessions) >= MAX_SESSIONS:
            _sessions.clear()
        found = _sessions.setdefault(key, Session(options))
    return found


def basic(user: str, password: str) -> str:
    """Return the value of a header with user and password."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _pair(auth: Any) -> tuple[str, str]:
    if isinstance(auth, (tuple, list)) and len(auth) == 2 and all(isinstance(one, str) for one in auth):
        return auth[0], auth[1]
    raise ValueError(f"storage_options: auth: found {type(auth).__name__}, expected a tuple of user and password")


def _sendable(value: Any, name: str) -> str:
    """Return a text that is sent as a header, or part of one."""
    text = value.decode("latin-1") if isinstance(value, bytes) else value
    if not isinstance(text, (str, int)):
        raise ValueError(f"storage_options: {name}: found {type(value).__name__}, expected str")
    if SENDABLE.fullmatch(str(text)) is None:
        message = "found a line break, or another character that a header cannot have"
        raise ValueError(f"storage_options: {name}: {message}")
    return str(text)


@functools.lru_cache(maxsize=256)
def _proxy_of(scheme: str, host: str, *environment: str | None) -> str | None:
    """Return the proxy for a host, or None. Finding it takes longer than sending a request, so it is remembered."""
    proxies = urllib.request.getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    return None if proxy is None or urllib.request.proxy_bypass(host) else proxy


def _from_netrc(host: str, *, any_host: bool) -> tuple[str, str] | None:
    """Return user and password of a host in the file `.netrc`, or those that it has for any other host."""
    path = os.environ.get("NETRC") or os.path.expanduser("~/.netrc")
    try:
        status = os.stat(path)
        found = _netrc(path, status.st_mtime_ns, status.st_size)
    except (OSError, netrc.NetrcParseError, UnicodeDecodeError):
        return None
    if host == "default" and not any_host:  # the name that the file has for any host
        return None
    entry = found.authenticators(host) if any_host else found.hosts.get(host)
    return None if entry is None else (entry[0], entry[2] or "")


@functools.lru_cache(maxsize=4)
def _netrc(path: str, mtime: int, size: int) -> netrc.netrc:
    return netrc.netrc(path)


class _Headers:
    """The headers of an answer, as a jar of cookies wants them."""

    def __init__(self, headers: Any):
        self._headers = headers

    def info(self) -> _Headers:
        """Return the headers."""
        return self

    def get_all(self, name: str, default: Any = None) -> Any:
        """Return all values of a header."""
        return self._headers.getlist(name) or default
