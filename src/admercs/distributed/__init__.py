"""Tables in many pieces: fitting and scoring on Dask (extra ``admercs[dask]``)."""

from admercs.distributed.local import local_cluster
from admercs.distributed.run import ClusterError, PartitionError

__all__ = ["ClusterError", "PartitionError", "local_cluster"]
