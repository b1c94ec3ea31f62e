# Made by `make export` from book/3-workshop/02-corpora.ipynb
"""Multi30k: descriptions of pictures in English, German and French."""

# book/3-workshop/02-corpora.ipynb, cell multi30k
from pathlib import Path

from aiayn.data.download import published_file
from aiayn.errors import InputError

MULTI30K = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
_CHECKSUMS = """\
train.en d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f
train.de 726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6
train.fr 622e75069e9f4c577425c4f277116ce66e63a2401c0a2312d90073cb12379a3c
val.en 14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28
val.de f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a
val.fr ca3106f1a72390591d25f6c45cb4cd39dec4cd3f123e099748a3ce5256c160e9
test_2016_flickr.en 611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9
test_2016_flickr.de 9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8
test_2016_flickr.fr 6d326e188d259fb1d04ac19eae3af956559b3a0b93d7635e56c90987c40c8b90
"""
MULTI30K_SHA256 = dict(line.split() for line in _CHECKSUMS.splitlines())


# book/3-workshop/02-corpora.ipynb, cell multi30k-files
def multi30k_files(pair: str, split: str) -> list[Path]:
    """The checked files of Multi30k with the source and with the target.

    Raises
    ------
    InputError
        If it has no such split or language, or a file is not what was published.
    """
    names = [f"{split}.{language}" for language in pair.split("-")]
    missing = [name for name in names if name not in MULTI30K_SHA256]
    if missing:
        splits = dict.fromkeys(key.rpartition(".")[0] for key in MULTI30K_SHA256)
        available = f"splits are {', '.join(splits)}; languages en, de, fr"
        raise InputError(f"multi30k has no {missing[0]}: {available}")
    return [
        published_file(
            f"multi30k/{name}.gz", f"{MULTI30K}/{name}.gz", MULTI30K_SHA256[name]
        )
        for name in names
    ]
