"""Copy a jar file without its index: ``copy_jar.py from to``."""

import sys
import zipfile


def copy(source, target):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            if entry.filename != "META-INF/INDEX.LIST":
                new.writestr(entry, old.read(entry))


if __name__ == "__main__":
    copy(*sys.argv[1:])
