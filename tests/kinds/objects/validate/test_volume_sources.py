"""Rules of the sources of volumes in pods, by table: a source and all of its errors in order, at each bound."""

from __future__ import annotations

import pytest

from tests.kinds.objects.validate.test_validate_core import Object, V, causes, in_pod, pod

IQN, EUI, NAA = "iqn.2001-04.com.example:a", "eui." + "a" * 16, "naa." + "a" * 32


def iscsi(**more: object) -> Object:
    return {"targetPortal": "p", "iqn": IQN, "lun": 0, **more}


def azure(**more: object) -> Object:
    return {"diskName": "d", "diskURI": "https://x", **more}


@pytest.mark.parametrize(
    ("kind", "source", "problems"),
    [
        ("hostPath", {"path": "/a", "type": "Socket"}, []),
        ("hostPath", {"path": "/a", "type": "Pipe"}, ["type: NotSupported"]),
        ("hostPath", {"path": "/a/../b"}, ["path: Invalid"]),
        ("hostPath", {"path": "", "type": "Pipe"}, ["path: Required"]),
        ("gitRepo", {"repository": "r", "directory": "a"}, []),
        ("gitRepo", {"repository": "", "directory": "../a"}, ["repository: Required", "directory: Invalid"]),
        ("gcePersistentDisk", {"pdName": "d", "partition": 255}, []),
        ("awsElasticBlockStore", {"volumeID": "d", "partition": 1}, []),
        ("awsElasticBlockStore", {"volumeID": "", "partition": -1}, ["volumeID: Required", "partition: Invalid"]),
        ("nfs", {"server": "s", "path": "/"}, []),
        ("nfs", {"server": "", "path": "a"}, ["server: Required", "path: Invalid"]),
        ("iscsi", iscsi(lun=255), []),
        ("iscsi", iscsi(lun=256), ["lun: Invalid"]),
        ("iscsi", iscsi(iqn=EUI), []),
        ("iscsi", iscsi(iqn=EUI + "a"), ["iqn: Invalid"]),
        ("iscsi", iscsi(iqn=NAA), []),
        ("iscsi", iscsi(iqn=NAA[:-1]), ["iqn: Invalid"]),
        ("iscsi", iscsi(iqn="abc"), ["iqn: Invalid"]),
        ("iscsi", iscsi(targetPortal="", iqn=""), ["targetPortal: Required", "iqn: Required"]),
        ("iscsi", iscsi(initiatorName="abc"), ["initiatorname: Invalid"]),
        ("iscsi", iscsi(chapAuthDiscovery=True), ["secretRef: Required"]),
        ("iscsi", iscsi(chapAuthSession=True), ["secretRef: Required"]),
        ("iscsi", iscsi(chapAuthSession=True, secretRef={"name": "s"}), []),
        ("glusterfs", {"endpoints": "e", "path": "p"}, []),
        ("glusterfs", {"endpoints": "", "path": ""}, ["endpoints: Required", "path: Required"]),
        ("flocker", {"datasetName": "a"}, []),
        ("flocker", {"datasetUUID": "a"}, []),
        ("flocker", {}, [": Required"]),
        ("flocker", {"datasetName": "a/b"}, ["datasetName: Invalid"]),
        ("flocker", {"datasetName": "a", "datasetUUID": "b"}, [": Invalid"]),
        ("rbd", {"monitors": ["m"], "image": "i"}, []),
        ("rbd", {"monitors": [], "image": ""}, ["monitors: Required", "image: Required"]),
        ("cinder", {"volumeID": "v", "secretRef": {"name": "s"}}, []),
        ("cinder", {"volumeID": "", "secretRef": {}}, ["volumeID: Required", "secretRef.name: Required"]),
        ("cephfs", {"monitors": []}, ["monitors: Required"]),
        ("quobyte", {"registry": "h:1,[::1]:2", "volume": "v"}, []),
        ("quobyte", {"registry": "h:1,h", "volume": ""}, ["registry: Invalid", "volume: Required"]),
        ("quobyte", {"registry": "::1:2", "volume": "v"}, ["registry: Invalid"]),
        ("quobyte", {"registry": "[a]b:2", "volume": "v"}, ["registry: Invalid"]),
        ("quobyte", {"registry": "", "volume": "v"}, ["registry: Required"]),
        ("quobyte", {"registry": "h:1", "volume": "v", "tenant": "t" * 64}, []),
        ("quobyte", {"registry": "h:1", "volume": "v", "tenant": "t" * 65}, ["tenant: Required"]),
        ("fc", {"targetWWNs": ["a"], "lun": 255}, []),
        ("fc", {"wwids": ["a"]}, []),
        ("fc", {"targetWWNs": ["a"], "lun": 256}, ["lun: Invalid"]),
        ("fc", {"targetWWNs": ["a"]}, ["lun: Required"]),
        ("fc", {}, ["targetWWNs: Required"]),
        ("fc", {"targetWWNs": ["a"], "wwids": ["b"], "lun": 0}, ["targetWWNs: Invalid"]),
        ("flexVolume", {"driver": "d", "options": {"a.example.org/b": "c"}}, []),
        ("flexVolume", {"driver": "", "options": {"a.orch.io/b": "c"}}, ["driver: Required", "options[a.orch.io/b]: Invalid"]),
        ("flexVolume", {"driver": "d", "options": {"ORCH.io/b": "c"}}, ["options[ORCH.io/b]: Invalid"]),
        ("azureFile", {"secretName": "", "shareName": ""}, ["secretName: Required", "shareName: Required"]),
        ("vsphereVolume", {"volumePath": ""}, ["volumePath: Required"]),
        ("photonPersistentDisk", {"pdID": ""}, ["pdID: Required"]),
        ("portworxVolume", {"volumeID": ""}, ["volumeID: Required"]),
        ("azureDisk", azure(), []),
        ("azureDisk", azure(diskName="", cachingMode="Some"), ["diskName: Required", "cachingMode: NotSupported"]),
        ("azureDisk", azure(kind="Other"), ["kind: NotSupported"]),
        ("azureDisk", azure(kind="Dedicated", cachingMode="ReadOnly"), []),
        ("azureDisk", azure(kind="Shared", diskURI="/subscriptions/a"), ["diskURI: NotSupported"]),
        ("azureDisk", azure(kind="Managed", diskURI="/subscriptions/a"), []),
        ("azureDisk", azure(kind="Managed"), ["diskURI: NotSupported"]),
        ("storageos", {"volumeName": "v", "volumeNamespace": "n", "secretRef": {"name": "s"}}, []),
        ("storageos", {"volumeName": "V", "volumeNamespace": "N", "secretRef": {}},
         ["volumeName: Invalid", "volumeNamespace: Invalid", "secretRef.name: Required"]),
        ("storageos", {"volumeName": ""}, ["volumeName: Required"]),
        ("scaleIO", {"gateway": "", "system": "", "volumeName": "", "secretRef": {"name": "s"}},
         ["gateway: Required", "system: Required", "volumeName: Required"]),
        ("secret", {"secretName": "", "defaultMode": 0o1000}, ["secretName: Required", "defaultMode: Invalid"]),
        ("secret", {"secretName": "s", "defaultMode": 0o777, "items": [{"key": "k", "path": "p", "mode": 0}]}, []),
        ("configMap", {"name": "m", "items": [{"key": "k", "path": "p"}, {"key": "", "path": "/p", "mode": -1}]},
         ["items[1].key: Required", "items[1].path: Invalid", "items[1].mode: Invalid"]),
        ("configMap", {"name": "", "items": [{"key": "k", "path": ""}]}, ["name: Required", "items[0].path: Required"]),
        ("persistentVolumeClaim", {"claimName": ""}, ["claimName: Required"]),
        ("csi", {"driver": "d", "nodePublishSecretRef": {"name": "s"}}, []),
        ("csi", {"driver": "", "nodePublishSecretRef": {"name": ""}}, ["driver: Required", "driver: Invalid", "nodePublishSecretRef .name: Required"]),
        ("csi", {"driver": "d", "nodePublishSecretRef": {"name": "S"}}, ["name: Invalid"]),
    ],
)  # fmt: skip
def test_source_of_a_volume(kind: str, source: Object, problems: list[str]) -> None:
    places = [f"{V}.{kind}{'' if problem.startswith(':') else '.'}{problem}" for problem in problems]
    assert causes("pods", pod({"name": "v", kind: source})) == places


def test_path_of_the_disk_in_errors() -> None:
    """Errors of this source are at another path than that of the field."""
    volume = {"name": "v", "gcePersistentDisk": {"pdName": "", "partition": 256}}
    assert causes("pods", pod(volume)) == [
        f"{V}.persistentDisk.{text}" for text in ("pdName: Required", "partition: Invalid")
    ]


@pytest.mark.parametrize(("length", "problems"), [(62, []), (63, [f"{V}.name: Invalid"])])
def test_length_of_the_name_of_an_initiator(length: int, problems: list[str]) -> None:
    """Volume and portal have less than 65 bytes together where the initiator has a name."""
    source = iscsi(targetPortal="p" * length, initiatorName=IQN)
    assert causes("pods", pod({"name": "v", "iscsi": source})) == problems
    assert causes("pods", pod({"name": "v", "iscsi": iscsi(targetPortal="p" * length)})) == []


@pytest.mark.parametrize(
    ("old", "new", "errors"),
    [(5, 5, 0), (5, 4, 0), (5, 6, 1), (5, None, 1), (None, 1, 0), (5, 0, 1), (None, 2**31 - 1, 0), (None, 2**31, 2), (None, -1, 2)],
)  # fmt: skip
def test_deadline_of_a_pod_in_updates(old: int | None, new: int | None, errors: int) -> None:
    """A deadline may be set or shortened, not prolonged nor removed. Invalid ones are errors of the pod and of the
    change, but 0, which is one of the pod alone."""
    before, after = (in_pod(**({} if each is None else {"activeDeadlineSeconds": each})) for each in (old, new))
    assert causes("pods", after, before) == ["spec.activeDeadlineSeconds: Invalid"] * errors
