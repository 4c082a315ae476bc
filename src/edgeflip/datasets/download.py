"""Fetching dataset files: resumable, checked by checksum, whole or not there."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from edgeflip.datasets.catalogue import RequiredFile, catalogue
from edgeflip.datasets.family_names import family_name, is_family_name
from edgeflip.errors import DatasetError, unknown_name
from edgeflip.support import check_limit, progress_bar, read_packed

_TIMEOUT = 30
_CHUNK = 1 << 16


def fetch_dataset(
    name: str, data_dir: str | os.PathLike[str], *, progress: bool = False
) -> list[Path]:
    """Download the files of a dataset that are not in the data folder yet.

    A file waits under its name with `.part` until it is complete and its checksum is right; a download
    that was cut off goes on where it ended, if the server allows that.

    Args:
        name: of the dataset; case and `-` against `_` do not matter. One of PyG or OGB, such as
            `tu:PROTEINS`, is downloaded and read by PyG or OGB.
        data_dir: the data folder, made if need be.
        progress: show a progress bar on stderr.

    Returns:
        Where the files are.
    """
    if is_family_name(name):
        from edgeflip.datasets.ecosystem import raw_folder, read_named

        wished, place = family_name(name), Path(data_dir).expanduser()
        read_named(wished, place)
        return [raw_folder(wished, place)]
    wanted = name.strip().lower().replace("-", "_")
    if wanted not in catalogue():
        raise unknown_name("dataset", name, catalogue())
    entry, folder = catalogue()[wanted], Path(data_dir).expanduser()
    missing = [file for file in entry.files if not os.path.isfile(file.place(folder))]
    if any(file.url is None for file in missing):
        raise DatasetError(
            f"expected a dataset that can be downloaded, got '{wanted}', which cannot; {entry.obtain}."
        )
    for file in missing:
        fetch_file(file, folder, progress=progress)
    return [file.place(folder) for file in entry.files]


def fetch_file(file: RequiredFile, folder: Path, *, progress: bool = False) -> Path:
    """Download one file to its place; a checksum that is wrong leaves nothing there."""
    location = folder / file.path
    part = location.with_name(f"{location.name}.part")
    try:
        location.parent.mkdir(parents=True, exist_ok=True)
        _download(str(file.url), part, progress=progress)
        content = read_packed(part)
        # Some copies differ in their line ends only.
        for version in (content, content.replace(b"\r\n", b"\n")):
            if hashlib.sha256(version).hexdigest() == file.sha256:
                part.write_bytes(version)
                part.replace(location)
                return location
        part.unlink()
    except (
        urllib.error.URLError,
        http.client.HTTPException,
        TimeoutError,
        ConnectionError,
        ValueError,
    ) as error:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise DatasetError(
            f"expected to download {file.url}, got '{reason}'; check the network and run it again, "
            f"or put the file at {location} yourself."
        ) from None
    except OSError as error:
        raise DatasetError(
            f"expected to write {location}, got '{error.strerror or error}'; check free space and "
            "permissions."
        ) from None
    raise DatasetError(
        f"expected {file.url} to have sha256 {file.sha256}, got "
        f"{hashlib.sha256(content).hexdigest()} ({len(content)} bytes); it is another file, get it "
        "elsewhere."
    )


def _download(url: str, part: Path, *, progress: bool) -> None:
    if urlsplit(url).scheme not in ("http", "https"):
        raise DatasetError(f"expected a web address, got '{url}'; correct the catalogue.")
    done = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        answer = urllib.request.urlopen(request, timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if not done or error.code != 416:
            raise
        # Nothing is left to fetch, or the file has changed: the checksum will tell.
        return
    with answer:
        resumed = answer.status == 206
        done = done if resumed else 0
        length = str(answer.headers.get("Content-Length") or "").strip()
        # A length that is no number says nothing; the checksum still decides.
        total = done + int(length) if length.isascii() and length.isdecimal() else 0
        check_limit("file_bytes", total, url)
        bar = progress_bar(part.stem, total=total, unit="B", shown=progress, done=done)
        with part.open("ab" if resumed else "wb") as file, bar:
            while chunk := answer.read(_CHUNK):
                done += len(chunk)
                check_limit("file_bytes", done, url)
                file.write(chunk)
                bar.update(len(chunk))
    if total and done < total:
        raise ConnectionError(f"the connection ended after {done} of {total} bytes")
