"""`python -m reprise`"""

import sys

from reprise.cli.main import main

sys.exit(main())
