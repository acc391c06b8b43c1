# SPDX-License-Identifier: Apache-2.0
"""The installed tree as a folder that may be moved, in a tar archive for module systems, and as a .deb."""

import os
import pathlib
import shutil
import subprocess
import tarfile

import pack

HERE = pathlib.Path(__file__).parent
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}


def _filled(name, **values):
    lines = (HERE / name).read_text().splitlines(keepends=True)
    text = "".join(line for line in lines if "SPDX-License-Identifier" not in line)
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def _copy_python(version, package, modules, folder):
    shutil.copytree(package, folder, ignore=shutil.ignore_patterns("__pycache__"))
    info = folder.with_name(f"stepscope-{version}.dist-info")
    info.mkdir()
    (info / "METADATA").write_bytes(pack.metadata(version, ""))
    for module in modules:
        shutil.copy2(module, folder)


def _write_licences(licences, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in licences.items():
        (folder / name).write_bytes(text)


def _owned_by_root(member):
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    member.mtime = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))
    return member


def tarball(path, version, stage, package, modules, licences, scratch):
    """stepscope-VERSION-PROCESSOR.tar.gz; raises OSError."""
    root = scratch / path.name[:-len(".tar.gz")]
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(stage, root, symlinks=True)
    _copy_python(version, package, modules, root / "lib" / "python" / "stepscope")
    _write_licences(licences, root / "share" / "doc" / "stepscope" / "licenses")
    module = root / "share" / "modulefiles" / "stepscope" / version
    module.parent.mkdir(parents=True)
    module.write_text(_filled("modulefile.in", VERSION=version))
    with tarfile.open(path, "w:gz") as archive:
        archive.add(root, root.name, filter=_owned_by_root)
    return path


def debian_package(path, version, processor, stage, package, modules, licences, scratch):
    """Below /usr; raises OSError and CalledProcessError."""
    root = scratch / "deb"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(stage, root / "usr", symlinks=True)
    _copy_python(version, package, modules, root / "usr" / "lib" / "python3" / "dist-packages" / "stepscope")
    _write_licences(licences, root / "usr" / "share" / "doc" / "stepscope" / "licenses")
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN" / "control").write_text(_filled("control.in", VERSION=version, ARCHITECTURE=DEBIAN[processor]))
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "--build", root, path], check=True,
                   stdout=subprocess.DEVNULL)
    return path
