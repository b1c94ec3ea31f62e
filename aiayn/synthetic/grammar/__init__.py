# Made by `make export` from book/4-synthetic-corpus/2-two-grammars.ipynb
"""What a sentence can mean, and its form in English and in German."""

# book/4-synthetic-corpus/2-two-grammars.ipynb, cell package
from aiayn.synthetic.grammar.meaning import Clause as Clause
from aiayn.synthetic.grammar.meaning import Notes as Notes
from aiayn.synthetic.grammar.meaning import Thing as Thing
from aiayn.synthetic.grammar.meaning import Word as Word
