"""`python -m postil` is `postil`."""

import sys

from postil.surfaces.shell.main import main

if __name__ == "__main__":
    sys.exit(main())
