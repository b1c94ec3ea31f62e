"""Answers to the exercises of "The exporter"."""


# %% exercise 1, right: by a visitor; a comprehension raises the alarm
def loaded_names(source: str) -> set[str]:
    found = set()

    class Visitor(ast.NodeVisitor):
        def visit_Name(self, node):
            found.update({node.id} if type(node.ctx) is ast.Load else ())

    Visitor().visit(ast.parse(source))
    return found


false_alarm = "def square(x):\n    return x * x"


# %% exercise 1, wrong: stored names as well
def loaded_names(source: str) -> set[str]:
    return {n.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name)}


false_alarm = "f = lambda x: x"


# %% exercise 1, wrong: the statements' own level only
def loaded_names(source: str) -> set[str]:
    nodes = [
        node
        for statement in ast.parse(source).body
        for node in ast.iter_child_nodes(statement)
    ]
    return {
        n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }


false_alarm = "f = lambda x: x"


# %% exercise 1, wrong: no false alarm
def loaded_names(source: str) -> set[str]:
    nodes = ast.walk(ast.parse(source))
    return {
        n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }


false_alarm = "y = x"


# %% exercise 1, wrong: attributes and keywords as well
def loaded_names(source: str) -> set[str]:
    nodes = list(ast.walk(ast.parse(source)))
    found = {
        n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }
    return found | {n.attr for n in nodes if isinstance(n, ast.Attribute)}


false_alarm = "f = lambda x: x"


# %% exercise 2, right: looks for a place
def split_pair() -> tuple[float, float]:
    low, high = 1.0, 2.0
    while high - low >= 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if rounded(middle) != rounded(low) else (middle, high)
    return low, high


# %% exercise 2, wrong: rounded alike
def split_pair() -> tuple[float, float]:
    return 0.1234, 0.1234 + 1e-10


# %% exercise 2, wrong: too far apart
def split_pair() -> tuple[float, float]:
    return 0.1234, 0.1235


# %% exercise 2, wrong: the larger first
def split_pair() -> tuple[float, float]:
    return 0.12345 + 1e-10, 0.12345 - 1e-10


# %% exercise 2, wrong: the same number twice
def split_pair() -> tuple[float, float]:
    return 0.12345, 0.12345
