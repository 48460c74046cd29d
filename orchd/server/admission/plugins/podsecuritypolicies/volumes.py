"""Volumes: types, host paths, drivers."""

from __future__ import annotations

from collections.abc import Iterable

from orchd.dialect import Dialect
from orchd.kinds.jsonvalues import Object
from orchd.server.admission.plugins.podsecuritypolicies.findings import invalid

#: Member of a volume -> its type name in policies, where they differ.
_WORDS = {"cephfs": "cephFS"}


def findings(
    policy: Object, volumes: Iterable[Object], containers: list[tuple[str, Object]], dialect: Dialect
) -> list[str]:
    """`containers` are all containers with their field paths, for mounts that must be read-only."""
    out: list[str] = []
    for i, volume in enumerate(volumes):
        path = f"spec.volumes[{i}]"
        kind = next((k for k in volume if k != "name" and volume[k] is not None), "")
        word = _WORDS.get(kind, kind)
        if not _is_type_allowed(policy.get("volumes") or (), word, volume, dialect):
            out.append(invalid(path, word, f"{word} volumes are not allowed to be used"))
        elif kind == "hostPath":
            out += _host_path(policy, path, volume, containers)
        elif kind == "flexVolume":
            drivers = [d.get("driver") for d in policy.get("allowedFlexVolumes") or ()]
            if drivers and volume[kind].get("driver") not in drivers:
                why = "Flexvolume driver is not allowed to be used"
                out.append(invalid(f"{path}.driver", volume[kind].get("driver") or "", why))
        elif kind == "csi":
            drivers = [d.get("name") for d in policy.get("allowedCSIDrivers") or ()]
            if drivers and volume[kind].get("driver") not in drivers:
                why = "Inline CSI driver is not allowed to be used"
                out.append(invalid(f"{path}.csi.driver", volume[kind].get("driver") or "", why))
    return out


def _is_type_allowed(allowed: Iterable[str], word: str, volume: Object, dialect: Dialect) -> bool:
    # The projected service account token, which every pod has, is allowed like a secret.
    return (
        "*" in allowed
        or word in allowed
        or (word == "projected" and "secret" in allowed and _is_account_token(volume[word], dialect))
    )


def _is_account_token(projected: Object, dialect: Dialect) -> bool:
    for source in projected.get("sources") or ():
        token, root, down = (source.get(k) for k in ("serviceAccountToken", "configMap", "downwardAPI"))
        if token is None and root is None and down is None:
            return False
        if token is not None and (token.get("path") != "token" or token.get("audience")):
            return False
        if root is not None and root.get("name") != dialect("{short}-root-ca.crt"):
            return False
        for item in (down or {}).get("items") or ():
            field = item.get("fieldRef") or {}
            place = (item.get("path"), field.get("apiVersion"), field.get("fieldPath"))
            if place != ("namespace", "v1", "metadata.namespace"):
                return False
    return True


def _host_path(policy: Object, path: str, volume: Object, containers: list[tuple[str, Object]]) -> list[str]:
    where = volume["hostPath"].get("path") or ""
    prefixes = policy.get("allowedHostPaths") or ()
    if not prefixes:
        return []
    matching = [p for p in prefixes if _below(where, p.get("pathPrefix") or "")]
    if not matching:
        return [invalid(f"{path}.hostPath.pathPrefix", where, "is not allowed to be used")]
    if any(not p.get("readOnly") for p in matching):
        return []
    return [
        invalid(f"{at}.volumeMounts[{i}].readOnly", False, "must be read-only")
        for at, container in containers
        for i, mount in enumerate(container.get("volumeMounts") or ())
        if mount.get("name") == volume["name"] and not mount.get("readOnly")
    ]


def _below(path: str, prefix: str) -> bool:
    path, prefix = path.removesuffix("/"), prefix.removesuffix("/")
    return path == prefix or path.startswith(f"{prefix}/")
