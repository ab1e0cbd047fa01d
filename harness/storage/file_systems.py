"""Detect network file systems, on which SQLite's write-ahead log does not work (it needs shared memory)."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

NETWORK = {
    0x6969: "NFS",
    0x517B: "SMB",
    0xFF534D42: "CIFS",
    0xFE534D42: "SMB2",
    0x65735546: "FUSE",
    0x0BD00BD0: "Lustre",
    0x47504653: "GPFS",
    0x19830326: "BeeGFS",
    0x01021997: "9p",
    0x5346414F: "AFS",
    0x6B414653: "AFS",
    0x00C36400: "Ceph",
    0x73757245: "Coda",
    0x564C: "NCP",
    0x7461636F: "OCFS2",
    0x01161970: "GFS2",
    0xAAD7AAEA: "PanFS",
    0x20030528: "OrangeFS",
    0x786F4256: "vboxsf",
}
"""Values of ``f_type`` in statfs(2), from Linux's ``linux/magic.h`` and the manual page of statfs."""

_BUFFER = 512  # struct statfs has at most 120 bytes


def network_file_system(path: Path) -> str | None:
    """Return the kind of network file system that a path lies on; None on a local one, or where that is unknown."""
    return NETWORK.get(file_system_type(path) or 0)


def file_system_type(path: Path) -> int | None:
    """Return ``f_type`` of statfs(2) for a path, or for its nearest parent that exists; None outside of Linux."""
    if not sys.platform.startswith("linux"):
        return None
    there = next((one for one in (path, *path.absolute().parents) if one.exists()), Path("/"))
    buffer = ctypes.create_string_buffer(_BUFFER)
    if ctypes.CDLL(None).statfs(os.fsencode(there), buffer) != 0:
        return None
    return ctypes.c_ulong.from_buffer(buffer).value & 0xFFFFFFFF
