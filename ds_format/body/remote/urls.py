"""Addresses of web servers. One parser, that of urllib3, decides who gets credentials and what is connected to.

Addresses that another parser could understand in another way are refused: with a backslash, a control character, or two
`@` before the path.
"""

from __future__ import annotations

import errno
import re
import urllib.parse
from collections.abc import Collection
from typing import Any, NamedTuple

from ...base.optional import library
from .stores import EXTRA

PORTS = {"http": 80, "https": 443}
"""Schemes of web servers, and their default ports."""
FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\]")
"""Characters that only some programs remove, or read as a slash."""
HOST = re.compile(r"[a-z0-9_.-]+|\[[0-9a-f:.]+(%[\w.~-]+)?\]", re.IGNORECASE | re.ASCII)
"""A host that all parsers understand: a name, an IPv4 address, or in brackets an IPv6 address, also with a zone."""


class WebUrl(NamedTuple):
    """A parsed address. As text, it is the address in a form that has only one meaning.

    Examples
    --------
    >>> url = parse_url("HTTPS://me:secret@Example.org:443/a b/../x.ds?key=1#top")
    >>> str(url), url.credentials
    ('https://example.org/x.ds?key=1', ('me', 'secret'))
    """

    scheme: str
    host: str
    """In lower case and ASCII; an IPv6 address has brackets."""
    port: int
    path: str
    """Percent-encoded."""
    query: str
    """Percent-encoded, with its question mark; empty if there is none."""
    credentials: tuple[str, str] | None
    """User and password."""

    def __str__(self) -> str:
        return self.plain + self.query

    @property
    def netloc(self) -> str:
        """Host, and port if it is not the default one."""
        return self.host if self.port == PORTS.get(self.scheme) else f"{self.host}:{self.port}"

    @property
    def plain(self) -> str:
        """The address without credentials and query."""
        return f"{self.scheme}://{self.netloc}{self.path}"

    def may_have_credentials_of(self, other: WebUrl) -> bool:
        """Return whether both have the same scheme, host and port, or the other one is the same host, not encrypted."""
        origin = self[:3]
        return origin == other[:3] or (origin == ("https", other.host, 443) and other[:3] == ("http", other.host, 80))


def parse_url(
    url: str, what: str = "the address", name: str | None = None, schemes: Collection[str] = tuple(PORTS)
) -> WebUrl:
    """Parse an address.

    Parameters
    ----------
    url : str
    what : str
        The beginning of messages.
    name : str, optional
        The file, for messages.
    schemes : collection of str
        The schemes to accept.

    Raises
    ------
    OSError
        If it is none, or one that programs understand differently. The message contains no part of it but its scheme.
    """
    url = url.replace(" ", "%20")
    if FORBIDDEN.search(url):
        raise OSError(errno.EINVAL, f"{what} has a backslash or a control character", name)
    scheme, _, rest = url.partition("://")
    if scheme.lower() not in schemes:
        found = scheme if re.fullmatch(r"[\w+.-]{1,20}", scheme) else "no scheme"
        raise OSError(errno.EINVAL, f"{what} has {found}, expected {' or '.join(schemes)}", name)
    if re.split("[/?#]", rest, maxsplit=1)[0].count("@") > 1:
        message = f'{what} has more than one "@" before its path: write one in a user or password as %40'
        raise OSError(errno.EINVAL, message, name)
    util = library("urllib3.util", EXTRA, "addresses of web servers")
    try:
        parts: Any = util.parse_url(url)
    except ValueError:  # its message has the address
        parts = None
    if parts is None or parts.port == 0 or not HOST.fullmatch(parts.host or ""):
        message = f'{what} has no valid host and port: write a "/", "?" or "#" in a user or password percent-encoded'
        raise OSError(errno.EINVAL, message, name)
    user, _, password = (parts.auth or "").partition(":")
    return WebUrl(
        parts.scheme,
        parts.host.lower(),
        parts.port or PORTS.get(parts.scheme, 1080),
        parts.path or "/",
        "" if parts.query is None else f"?{parts.query}",
        None if parts.auth is None else (urllib.parse.unquote(user), urllib.parse.unquote(password)),
    )


def redirected(base: WebUrl, location: str) -> WebUrl:
    """Return the address to which the header `Location` of an answer leads.

    Parameters
    ----------
    base : WebUrl
        The address of the request.
    location : str
        The header, each byte as a character.

    Raises
    ------
    OSError
        As for `parse_url`.
    """
    what = "the answer redirects to an address that"
    encoded = "".join(char if char < "\x80" else f"%{ord(char):02X}" for char in location.strip(" \t"))
    if FORBIDDEN.search(encoded):  # the parser that joins would remove some
        return parse_url(encoded, what)
    try:
        joined = urllib.parse.urljoin(str(base), encoded)
    except ValueError:
        joined = f"{base.scheme}://"
    return parse_url(joined, what)
