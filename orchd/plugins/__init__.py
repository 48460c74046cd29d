"""Drop-in authenticators, authorizers, admission plugins, controllers and scheduler plugins (`orchd.txkit.dropins`)."""

from twisted.plugin import pluginPackagePaths

__path__.extend(pluginPackagePaths(__name__))
__all__: list[str] = []
