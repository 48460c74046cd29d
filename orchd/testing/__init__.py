"""For tests of programs that use the API: `Cluster`, a real server as a separate process. Also doubles and contract
suites for tests of this product.

May import anything; nothing but tests imports it. This module imports the standard library alone, so that a test's
process does not load the server.
"""

from orchd.testing.cluster.channel import ClusterError as ClusterError
from orchd.testing.cluster.cluster import Cluster as Cluster
from orchd.testing.cluster.cluster import RecordedRequest as RecordedRequest
