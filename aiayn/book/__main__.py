# Made by `make export` from book/3-workshop/01-exporter.ipynb
"""The command python -m aiayn.book."""

# book/3-workshop/01-exporter.ipynb, cell main-imports
import argparse
from pathlib import Path

from aiayn.book.cells import BookError
from aiayn.book.export import export_book


# book/3-workshop/01-exporter.ipynb, cell project
def project(start: Path) -> Path:
    """The project that `start` lies in.

    Raises
    ------
    BookError
        If no folder from `start` upwards holds the book.
    """
    for folder in [start, *start.parents]:
        if (folder / "_toc.yml").is_file() and (folder / "book").is_dir():
            return folder
    fault = "no book here or above (no folder with _toc.yml and book/)"
    raise BookError(f"{start}: {fault}")


# book/3-workshop/01-exporter.ipynb, cell main
def main() -> None:
    """`python -m aiayn.book export [--check]`.

    The exit code is 1 if book and package differ, and 2 if the book has a fault.
    """
    about = "The book is the package."
    parser = argparse.ArgumentParser(prog="python -m aiayn.book", description=about)
    about = "write aiayn/ from the book's exported cells"
    parser.add_argument("verb", choices=["export"], help=about)
    about = "write nothing; fail if the two differ"
    parser.add_argument("--check", action="store_true", help=about)
    arguments = parser.parse_args()
    try:
        result = export_book(project(Path.cwd().resolve()), arguments.check)
    except (BookError, OSError) as error:
        parser.exit(2, f"aiayn.book: {error}\n")
    print("\n".join(result) or "the package is what the book says")
    if arguments.check and result:
        fault = "the package is not what the book says: run `make export`"
        parser.exit(1, f"aiayn.book: {fault}\n")


# book/3-workshop/01-exporter.ipynb, cell run
# A notebook, too, is __main__, but in no package.
if __name__ == "__main__" and __package__:
    main()
