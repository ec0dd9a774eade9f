"""How much is enough: how large a study must be, when to stop asking, and short forms."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
