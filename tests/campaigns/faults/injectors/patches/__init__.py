"""What goes wrong in the store process itself: each module is the ``sitecustomize.py`` of its interpreter."""
