"""Makes `twistd orchd` known."""

from twisted.application.service import ServiceMaker

orchd = ServiceMaker("orchd", "orchd.tap", "The control plane of a cluster.", "orchd")
