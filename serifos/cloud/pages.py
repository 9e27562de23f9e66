# SPDX-License-Identifier: Apache-2.0
"""GET requests to Cinder's API, and lists page by page.

They are retried once.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping
import contextlib
import dataclasses
from typing import Any
from urllib import parse

from cinderclient import exceptions

from serifos.cloud import api_views
from serifos.facts import fields

PAGE = 500
"""Items asked for at a time; Cinder may give fewer."""

MOST = 200_000
"""Items of one kind that are read at most, over all pages."""

RETRIES = {'connect_retries': 1, 'status_code_retries': 1,
           'retriable_status_codes': [502, 503, 504]}


@dataclasses.dataclass(frozen=True)
class Pages:
    """What Cinder answers to GET requests.

    :param api: cinderclient's
    :param most: items of one kind that are read
    """

    api: Any
    most: int = MOST

    def get(self, path: str, **query: object) -> Mapping[str, Any]:
        """The object that answers one request."""
        url = f'{path}?{parse.urlencode(query)}' if query else path
        return fields.Field(self.api.client.get(url, **RETRIES)[1]).object()

    def page(self, path: str, key: str, **query: object) -> list[Any]:
        """The items that answer one request.

        :raises LookupError: where it has no such list
        """
        return _items(self.get(path, **query), key)

    def items(self, path: str, key: str, **query: object) -> list[Any]:
        """All items of a list, page by page, our own marker in each request.

        Cinder's links to the next page name its public endpoint, which may
        be out of reach, and cinderclient does not find that of the types. If
        a marker is deleted meanwhile, the list is read again, up to twice.

        :raises ValueError: where the pages do not end
        """
        for _ in range(2):
            with contextlib.suppress(exceptions.NotFound):
                return list(self._each(path, key, query))
        return list(self._each(path, key, query))

    def _each(self, path: str, key: str,
              query: Mapping[str, object]) -> Iterator[Any]:
        marker: dict[str, str] = {}
        markers: set[str] = set()
        count = 0
        while True:
            page = self.get(path, **query, limit=PAGE, **marker)
            items = _items(page, key)
            yield from items
            count += len(items)
            if not items or not any(n.endswith('_links') for n in page):
                return
            last = api_views.id_of(items[-1])
            if last in markers or count >= self.most:
                raise ValueError(
                    f'the pages of {key} do not end: {count} items, and '
                    'another page after them')
            markers.add(last)
            marker = {'marker': last}


def _items(page: Mapping[str, Any], key: str) -> list[Any]:
    return fields.Field(page[key], key).array_if_any()
