"""Rules of ten definitions, written after those that well-known projects publish: what one object costs.

A row is a definition: its schema in short, its rules, and an object that meets them. ``a: string`` is spelled as a
Python type, a list as a list of one, a map as ``{str: ...}``.
"""

from __future__ import annotations

from typing import Any, Final

#: name -> (schema, rules, object).
DEFINITIONS: Final[dict[str, tuple[Any, tuple[str, ...], Any]]] = {
    "gateway": (
        {
            "listeners": [{"name": str, "port": int, "protocol": str, "hostname": str}],
            "addresses": [{"type": str, "value": str}],
        },
        (
            "self.listeners.all(l, l.protocol in ['HTTP', 'TCP', 'UDP'] ? !has(l.hostname) || l.hostname != '' : true)",
            "self.listeners.all(a, self.listeners.exists_one(b, a.port == b.port && a.protocol == b.protocol && a.name == b.name))",
            "self.addresses.all(a, a.type == 'IPAddress' ? isIP(a.value) : true)",
        ),
        {
            "listeners": [
                {"name": f"l{i}", "port": 8000 + i, "protocol": "HTTP", "hostname": "a.example"} for i in range(16)
            ],
            "addresses": [{"type": "IPAddress", "value": "192.0.2.1"}],
        },
    ),
    "route": (
        {"rules": [{"matches": [{"path": str, "kind": str}], "backends": [{"name": str, "port": int, "weight": int}]}]},
        (
            "self.rules.all(r, r.matches.all(m, m.kind == 'Prefix' ? m.path.startsWith('/') : true))",
            "self.rules.all(r, r.backends.map(b, b.weight).sum() <= 100)",
            "self.rules.map(r, r.matches.size()).sum() <= 128",
        ),
        {
            "rules": [
                {
                    "matches": [{"path": f"/{i}", "kind": "Prefix"}, {"path": "/x", "kind": "Exact"}],
                    "backends": [{"name": "a", "port": 80, "weight": 60}, {"name": "b", "port": 80, "weight": 40}],
                }
                for i in range(8)
            ]
        },
    ),
    "certificate": (
        {"secret": str, "names": [str], "duration": str, "renewBefore": str, "key": {"algorithm": str, "size": int}},
        (
            "duration(self.renewBefore) < duration(self.duration)",
            "self.key.algorithm == 'ECDSA' ? self.key.size in [256, 384, 521] : self.key.size >= 2048",
            "self.names.all(n, n.matches('^[a-z0-9.*-]+$'))",
        ),
        {
            "secret": "tls",
            "names": ["a.example", "*.b.example"],
            "duration": "2160h",
            "renewBefore": "360h",
            "key": {"algorithm": "ECDSA", "size": 256},
        },
    ),
    "monitor": (
        {"interval": str, "timeout": str, "endpoints": [{"port": str, "path": str}]},
        ("duration(self.timeout) <= duration(self.interval)", "self.endpoints.all(e, has(e.port) && e.path != '')"),
        {"interval": "30s", "timeout": "10s", "endpoints": [{"port": "web", "path": "/metrics"}] * 4},
    ),
    "cluster": (
        {"replicas": int, "storage": {"size": str, "class": str}, "parameters": {str: str}},
        (
            "self.replicas % 2 == 1",
            "quantity(self.storage.size).isGreaterThan(quantity('1Gi'))",
            "self.parameters.all(k, !k.startsWith('internal.'))",
        ),
        {"replicas": 3, "storage": {"size": "10Gi", "class": "fast"}, "parameters": {f"p{i}": "on" for i in range(20)}},
    ),
    "queue": (
        {"groups": [{"resources": [str], "flavors": [{"name": str, "quota": int, "borrow": int}]}]},
        (
            "self.groups.all(g, g.flavors.all(f, f.borrow <= f.quota))",
            "self.groups.all(g, g.resources.isSorted() && g.resources.all(r, g.resources.exists_one(o, o == r)))",
        ),
        {
            "groups": [
                {
                    "resources": ["cpu", "memory"],
                    "flavors": [{"name": f"f{i}", "quota": 10, "borrow": 5} for i in range(8)],
                }
            ]
        },
    ),
    "pool": (
        {"cidr": str, "blocks": [str], "disabled": bool},
        ("isCIDR(self.cidr)", "self.blocks.all(b, cidr(self.cidr).containsCIDR(b))"),
        {"cidr": "10.0.0.0/8", "blocks": [f"10.{i}.0.0/16" for i in range(8)], "disabled": False},
    ),
    "secret store": (
        {"provider": {"a": {str: str}, "b": {str: str}, "c": {str: str}}, "refresh": str},
        (
            "[has(self.provider.a), has(self.provider.b), has(self.provider.c)].filter(x, x).size() == 1",
            "self.refresh == '' || duration(self.refresh) >= duration('1s')",
        ),
        {"provider": {"a": {"k": "v"}}, "refresh": "1h"},
    ),
    "workflow": (
        {"steps": [{"name": str, "after": [str]}]},
        (
            "self.steps.all(s, s.after.all(a, self.steps.exists(o, o.name == a)))",
            "self.steps.all(s, !(s.name in s.after))",
        ),
        {"steps": [{"name": f"s{i}", "after": [f"s{i - 1}"] if i else []} for i in range(20)]},
    ),
    "policy": (
        {"match": [{"kinds": [str], "namespaces": [str]}], "action": str, "message": str},
        (
            "self.action in ['Audit', 'Enforce']",
            "self.match.all(m, m.kinds.all(k, k.split('/').size() <= 3))",
            "self.action == 'Audit' || self.message.size() > 0",
        ),
        {
            "match": [{"kinds": ["v1/Pod", "apps/v1/Deployment"], "namespaces": ["a"]}] * 4,
            "action": "Enforce",
            "message": "no",
        },
    ),
}
_TYPES: Final = {str: "string", int: "integer", bool: "boolean"}


def schema_of(short: Any) -> dict[str, Any]:
    """The schema of a short form."""
    if isinstance(short, list):
        return {"type": "array", "items": schema_of(short[0])}
    if isinstance(short, dict):
        if str in short:
            return {"type": "object", "additionalProperties": schema_of(short[str])}
        return {"type": "object", "properties": {name: schema_of(inner) for name, inner in short.items()}}
    return {"type": _TYPES[short]}
