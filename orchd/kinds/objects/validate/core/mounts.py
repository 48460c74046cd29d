"""Validation of volume mounts and raw devices of a container."""

from __future__ import annotations

from typing import Final

from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.validate.core.field_rules import descending_path
from orchd.kinds.objects.validate.paths import Path
from orchd.kinds.objects.validate.report import Report

_RECURSIVE: Final = ("Disabled", "Enabled", "IfPossible")
_PROPAGATION: Final = ("Bidirectional", "HostToContainer", "None")


def mounts(container: Object, volumes: dict[str, Object], at: Path, report: Report) -> None:
    """Validate devices. `at` is the path of the list; some errors have no index."""
    # By name: the last of several devices with one name counts.
    devices = {d.get("name") or "": d.get("devicePath") or "" for d in container.get("volumeDevices") or ()}
    seen: set[str] = set()
    for i, mount in enumerate(container["volumeMounts"]):
        name, path = mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            report.required(at[i] / "name")
        if name not in volumes:
            report.not_found(at[i] / "name", name)
        if not path:
            report.required(at[i] / "mountPath")
        if path in seen:
            report.invalid(at[i] / "mountPath", path, "must be unique")
        seen.add(path)
        if devices:
            if name in devices:
                report.invalid(at[i] / "name", name, "must not already exist in volumeDevices")
            if path in devices.values():
                report.invalid(at[i] / "mountPath", path, "must not already exist as a path in volumeDevices")
        below, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
        if below:
            descending_path(below, at / "subPath", report)
        if expression:
            if below:
                report.invalid(at[i] / "subPathExpr", expression, "subPathExpr and subPath are mutually exclusive")
            descending_path(expression, at / "subPathExpr", report)
        if mount.get("recursiveReadOnly") is not None:
            _recursive(mount, at / "recursiveReadOnly", report)
        if mount.get("mountPropagation") is not None:
            _propagation(mount["mountPropagation"], container, at / "mountPropagation", report)


def _recursive(mount: Object, at: Path, report: Report) -> None:
    value = mount["recursiveReadOnly"]
    if value not in _RECURSIVE:
        report.unsupported(at, value, _RECURSIVE)
    elif value != "Disabled":
        if not mount.get("readOnly"):
            report.forbidden(at, "may only be specified when readOnly is true")
        if mount.get("mountPropagation") not in (None, "None"):
            report.forbidden(at, "may only be specified when mountPropagation is None or not specified")


def _propagation(value: str, container: Object, at: Path, report: Report) -> None:
    if value not in _PROPAGATION:
        report.unsupported(at, value, _PROPAGATION)
    if value == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        report.forbidden(at, "Bidirectional mount propagation is available only to privileged containers")


def devices(container: Object, volumes: dict[str, Object], at: Path, report: Report) -> None:
    mounted = {m.get("name") or "": m.get("mountPath") or "" for m in container.get("volumeMounts") or ()}
    names: set[str] = set()
    paths: set[str] = set()
    for i, device in enumerate(container["volumeDevices"]):
        name, path = device.get("name") or "", device.get("devicePath") or ""
        volume = volumes.get(name)
        if not name:
            report.required(at[i] / "name")
        if name in names:
            report.invalid(at[i] / "name", name, "must be unique")
        if volume is None:
            report.not_found(at[i] / "name", name)
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            report.invalid(
                at[i] / "name",
                name,
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode",
            )
        if not path:
            report.required(at[i] / "devicePath")
        if path in paths:
            report.invalid(at[i] / "devicePath", path, "must be unique")
        if ".." in path.split("/"):
            report.invalid(at[i] / "devicePath", path, "can not contain backsteps ('..')")
        else:
            paths.add(path)
        if name in mounted:
            report.invalid(at[i] / "name", name, "must not already exist in volumeMounts")
        if path in mounted.values():
            report.invalid(at[i] / "devicePath", path, "must not already exist as a path in volumeMounts")
        if name:
            names.add(name)
