"""Copy a jar file without its index: ``copy_jar.py from to``."""

import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as source, zipfile.ZipFile(sys.argv[2], "w") as target:
    for entry in source.infolist():
        if entry.filename != "META-INF/INDEX.LIST":
            target.writestr(entry, source.read(entry))
