"""Where operators drop authenticators, authorizers, admission plugins and signers (`twisted.plugin.getPlugins`)."""

from twisted.plugin import pluginPackagePaths

__path__.extend(pluginPackagePaths(__name__))
__all__: list[str] = []
