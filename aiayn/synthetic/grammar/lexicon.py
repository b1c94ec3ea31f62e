"""Nouns, names and adjectives in both languages.

From "Lexicon":
https://github.com/OWNER/aiayn/blob/main/book/4-synthetic-corpus/1-lexicon.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/4-synthetic-corpus/1-lexicon.ipynb, cell lexicon-imports
from dataclasses import dataclass
from functools import cache, cached_property


# book/4-synthetic-corpus/1-lexicon.ipynb, cell noun
@dataclass(frozen=True)
class Noun:
    """A noun: two English forms, and the German forms from which all eight follow.

    `gender` is m, f or n. A `weak` noun takes the ending of its genitive in every case
    of the singular but the nominative (der Junge, den Jungen). `plurals` is None for a
    noun such as milk.
    """

    singular: str
    plurals: tuple[str, str] | None
    gender: str
    weak: bool
    nominative: str
    genitive: str
    kind: str

    def english(self, plural: bool) -> str:
        """The English form."""
        return self.plurals[0] if plural and self.plurals else self.singular

    def german(self, case: str, plural: bool) -> str:
        """The German form in the `case` nom, acc, dat or gen."""
        if plural and self.plurals:
            form = self.plurals[1]
            return form + "n" if case == "dat" and form[-1] not in "ns" else form
        oblique = case == "gen" or (self.weak and case != "nom")
        return self.genitive if oblique else self.nominative

    @cached_property
    def pronoun(self) -> str:
        """The English pronoun for one of them."""
        neuter = "she" if self.singular == "girl" else "it"
        people = {"m": "he", "f": "she", "n": neuter}
        return people[self.gender] if self.kind == "person" else "it"


# book/4-synthetic-corpus/1-lexicon.ipynb, cell noun-table
NOUN_TABLE = {
    "person": """
        man men m Mann Mannes Männer; woman women f Frau Frau Frauen; boy boys mw Junge
        Jungen Jungen; girl girls n Mädchen Mädchens Mädchen; child children n Kind
        Kindes Kinder; aunt aunts f Tante Tante Tanten; teacher teachers m Lehrer
        Lehrers Lehrer; doctor doctors m Arzt Arztes Ärzte; nurse nurses f
        Krankenschwester Krankenschwester Krankenschwestern; farmer farmers mw Bauer
        Bauern Bauern; baker bakers m Bäcker Bäckers Bäcker; king kings m König Königs
        Könige; uncle uncles m Onkel Onkels Onkel; queen queens f Königin Königin
        Königinnen; brother brothers m Bruder Bruders Brüder; sister sisters f Schwester
        Schwester Schwestern; daughter daughters f Tochter Tochter Töchter; guest guests
        m Gast Gastes Gäste; thief thieves m Dieb Diebes Diebe; judge judges m Richter
        Richters Richter; student students mw Student Studenten Studenten; singer
        singers f Sängerin Sängerin Sängerinnen; writer writers f Schriftstellerin
        Schriftstellerin Schriftstellerinnen; driver drivers m Fahrer Fahrers Fahrer;
        grandmother grandmothers f Großmutter Großmutter Großmütter; mother mothers f
        Mutter Mutter Mütter; grandfather grandfathers m Großvater Großvaters Großväter;
        father fathers m Vater Vaters Väter; soldier soldiers mw Soldat Soldaten
        Soldaten; friend friends m Freund Freundes Freunde""",
    "infant": "baby babies n Baby Babys Babys",
    "animal": """
        animal animals n Tier Tieres Tiere; dog dogs m Hund Hundes Hunde; cat cats f
        Katze Katze Katzen; horse horses n Pferd Pferdes Pferde; cow cows f Kuh Kuh
        Kühe; duck ducks f Ente Ente Enten; pig pigs n Schwein Schweins Schweine; bear
        bears mw Bär Bären Bären; lion lions mw Löwe Löwen Löwen; mouse mice f Maus Maus
        Mäuse; wolf wolves m Wolf Wolfes Wölfe; fox foxes m Fuchs Fuchses Füchse; goat
        goats f Ziege Ziege Ziegen; camel camels n Kamel Kamels Kamele; lamb lambs n
        Lamm Lamms Lämmer; rabbit rabbits n Kaninchen Kaninchens Kaninchen; elephant
        elephants mw Elefant Elefanten Elefanten; monkey monkeys mw Affe Affen Affen;
        snake snakes f Schlange Schlange Schlangen""",
    "bird": """
        bird birds m Vogel Vogels Vögel; eagle eagles m Adler Adlers Adler; goose geese
        f Gans Gans Gänse; pigeon pigeons f Taube Taube Tauben; hen hens n Huhn Huhns
        Hühner""",
}


# book/4-synthetic-corpus/1-lexicon.ipynb, cell noun-table-food
NOUN_TABLE |= {
    "fruit": """
        apple apples m Apfel Apfels Äpfel; pear pears f Birne Birne Birnen; plum plums f
        Pflaume Pflaume Pflaumen; banana bananas f Banane Banane Bananen; cherry
        cherries f Kirsche Kirsche Kirschen; nut nuts f Nuss Nuss Nüsse; lemon lemons f
        Zitrone Zitrone Zitronen; peach peaches m Pfirsich Pfirsichs Pfirsiche""",
    "vegetable": """
        carrot carrots f Karotte Karotte Karotten; tomato tomatoes f Tomate Tomate
        Tomaten; potato potatoes f Kartoffel Kartoffel Kartoffeln; egg eggs n Ei Eies
        Eier""",
    "dish": """
        cake cakes m Kuchen Kuchens Kuchen; soup soups f Suppe Suppe Suppen; roll rolls
        n Brötchen Brötchens Brötchen; sausage sausages f Wurst Wurst Würste; cookie
        cookies m Keks Kekses Kekse; salad salads m Salat Salats Salate; pizza pizzas f
        Pizza Pizza Pizzas; pancake pancakes m Pfannkuchen Pfannkuchens Pfannkuchen""",
    "food": """
        bread - n Brot Brotes -; cheese - m Käse Käses -; honey - m Honig Honigs -; rice
        - m Reis Reises -; meat - n Fleisch Fleisches -; chocolate - f Schokolade
        Schokolade -""",
    "drink": """
        water - n Wasser Wassers -; milk - f Milch Milch -; coffee - m Kaffee Kaffees -;
        tea - m Tee Tees -; juice - m Saft Saftes -; wine - m Wein Weins -; beer - n
        Bier Biers -; lemonade - f Limonade Limonade -""",
}


# book/4-synthetic-corpus/1-lexicon.ipynb, cell noun-table-2
NOUN_TABLE |= {
    "text": """
        book books n Buch Buches Bücher; letter letters m Brief Briefes Briefe; novel
        novels m Roman Romans Romane; newspaper newspapers f Zeitung Zeitung Zeitungen;
        poem poems n Gedicht Gedichts Gedichte; story stories f Geschichte Geschichte
        Geschichten; report reports m Bericht Berichts Berichte; recipe recipes n Rezept
        Rezepts Rezepte; postcard postcards f Postkarte Postkarte Postkarten""",
    "tool": """
        key keys m Schlüssel Schlüssels Schlüssel; knife knives n Messer Messers Messer;
        pen pens m Stift Stifts Stifte; spoon spoons m Löffel Löffels Löffel; fork forks
        f Gabel Gabel Gabeln; hammer hammers m Hammer Hammers Hämmer; rope ropes n Seil
        Seils Seile; candle candles f Kerze Kerze Kerzen; coin coins f Münze Münze
        Münzen; ring rings m Ring Rings Ringe; ball balls m Ball Balls Bälle; doll dolls
        f Puppe Puppe Puppen; map maps f Karte Karte Karten; picture pictures n Bild
        Bildes Bilder; flower flowers f Blume Blume Blumen; umbrella umbrellas m
        Regenschirm Regenschirms Regenschirme; trophy trophies m Pokal Pokals Pokale;
        violin violins f Geige Geige Geigen; pillow pillows n Kissen Kissens Kissen""",
    "vessel": """
        cup cups f Tasse Tasse Tassen; glass glasses n Glas Glases Gläser; bottle
        bottles f Flasche Flasche Flaschen; plate plates m Teller Tellers Teller; bag
        bags f Tasche Tasche Taschen; box boxes f Kiste Kiste Kisten; suitcase suitcases
        m Koffer Koffers Koffer; basket baskets m Korb Korbes Körbe; package packages n
        Paket Pakets Pakete; bucket buckets m Eimer Eimers Eimer; pot pots m Topf Topfes
        Töpfe; drawer drawers f Schublade Schublade Schubladen""",
    "clothing": """
        hat hats m Hut Hutes Hüte; coat coats m Mantel Mantels Mäntel; shirt shirts n
        Hemd Hemdes Hemden; shoe shoes m Schuh Schuhs Schuhe; dress dresses n Kleid
        Kleides Kleider; jacket jackets f Jacke Jacke Jacken; cap caps f Mütze Mütze
        Mützen; glove gloves m Handschuh Handschuhs Handschuhe""",
}


# book/4-synthetic-corpus/1-lexicon.ipynb, cell noun-table-devices
NOUN_TABLE |= {
    "device": """
        lamp lamps f Lampe Lampe Lampen; radio radios n Radio Radios Radios; phone
        phones n Telefon Telefons Telefone; television televisions m Fernseher
        Fernsehers Fernseher; computer computers m Computer Computers Computer; machine
        machines f Maschine Maschine Maschinen; heater heaters f Heizung Heizung
        Heizungen""",
    "furniture": """
        table tables m Tisch Tisches Tische; chair chairs m Stuhl Stuhls Stühle; bed
        beds n Bett Bettes Betten; bench benches f Bank Bank Bänke; sofa sofas n Sofa
        Sofas Sofas; desk desks m Schreibtisch Schreibtisches Schreibtische; shelf
        shelves n Regal Regals Regale""",
    "opening": """
        door doors f Tür Tür Türen; window windows n Fenster Fensters Fenster; gate
        gates n Tor Tores Tore""",
    "vehicle": """
        car cars n Auto Autos Autos; bus buses m Bus Busses Busse; train trains m Zug
        Zuges Züge; ship ships n Schiff Schiffs Schiffe; boat boats n Boot Bootes Boote;
        bicycle bicycles n Fahrrad Fahrrads Fahrräder; taxi taxis n Taxi Taxis Taxis;
        truck trucks m Lastwagen Lastwagens Lastwagen; carriage carriages f Kutsche
        Kutsche Kutschen; tractor tractors m Traktor Traktors Traktoren""",
}


# book/4-synthetic-corpus/1-lexicon.ipynb, cell noun-table-3
NOUN_TABLE |= {
    "room": """
        house houses n Haus Hauses Häuser; kitchen kitchens f Küche Küche Küchen; school
        schools f Schule Schule Schulen; church churches f Kirche Kirche Kirchen; garden
        gardens m Garten Gartens Gärten; forest forests m Wald Waldes Wälder; park parks
        m Park Parks Parks; museum museums n Museum Museums Museen; hotel hotels n Hotel
        Hotels Hotels; library libraries f Bibliothek Bibliothek Bibliotheken; castle
        castles n Schloss Schlosses Schlösser; cellar cellars m Keller Kellers Keller;
        barn barns f Scheune Scheune Scheunen; office offices n Büro Büros Büros;
        village villages n Dorf Dorfes Dörfer; city cities f Stadt Stadt Städte; tower
        towers m Turm Turms Türme; hospital hospitals n Krankenhaus Krankenhauses
        Krankenhäuser; garage garages f Garage Garage Garagen""",
    "open": """
        street streets f Straße Straße Straßen; bridge bridges f Brücke Brücke Brücken;
        river rivers m Fluss Flusses Flüsse; field fields n Feld Feldes Felder; square
        squares m Platz Platzes Plätze; desert deserts f Wüste Wüste Wüsten""",
    "spot": """
        station stations m Bahnhof Bahnhofs Bahnhöfe; beach beaches m Strand Strandes
        Strände; market markets m Markt Marktes Märkte; island islands f Insel Insel
        Inseln; lake lakes m See Sees Seen; tree trees m Baum Baumes Bäume""",
    "matter": """
        task tasks f Aufgabe Aufgabe Aufgaben; journey journeys f Reise Reise Reisen;
        game games n Spiel Spiels Spiele; exam exams f Prüfung Prüfung Prüfungen; plan
        plans m Plan Plans Pläne; project projects n Projekt Projekts Projekte; question
        questions f Frage Frage Fragen; answer answers f Antwort Antwort Antworten; law
        laws n Gesetz Gesetzes Gesetze; contract contracts m Vertrag Vertrags Verträge;
        problem problems n Problem Problems Probleme; search searches f Suche Suche
        Suchen""",
    "cause": """
        rain - m Regen Regens -; snow - m Schnee Schnees -; storm storms m Sturm Sturms
        Stürme; wind - m Wind Windes -; fog - m Nebel Nebels -; heat - f Hitze Hitze -;
        noise - m Lärm Lärms -; mistake mistakes m Fehler Fehlers Fehler""",
}


# book/4-synthetic-corpus/1-lexicon.ipynb, cell nouns
def read_nouns() -> dict[str, Noun]:
    """The nouns of the table by their English singular."""
    nouns = {}
    for kind, table in NOUN_TABLE.items():
        for entry in table.split(";"):
            singular, plural, gender, nominative, genitive, plural_de = entry.split()
            plurals = None if plural == "-" else (plural, plural_de)
            nouns[singular] = Noun(
                singular, plurals, gender[0], gender == "mw", nominative, genitive, kind
            )
    return nouns


NOUNS = read_nouns()


@cache
def select(names: str) -> tuple[Noun, ...]:
    """The nouns that a list names by their kinds or singly, in the table's order."""
    wanted = set(names.split())
    unknown = wanted - NOUNS.keys() - NOUN_TABLE.keys()
    if unknown:
        raise KeyError(f"neither nouns nor kinds of nouns: {sorted(unknown)}")
    return tuple(noun for noun in NOUNS.values() if wanted & {noun.kind, noun.singular})


# book/4-synthetic-corpus/1-lexicon.ipynb, cell names
NAMES = {
    "m": """
        Ben David Leon Martin Oskar Paul Peter Robert Simon Tim Anton Daniel Jan Karl
        Otto""".split(),
    "f": """
        Anna Clara Emma Hannah Julia Maria Nina Sophie Laura Lena Eva Lisa Sarah Ida
        Frieda""".split(),
}
CITIES = "Berlin London Hamburg Madrid Oslo Boston Toronto Potsdam".split()


# book/4-synthetic-corpus/1-lexicon.ipynb, cell adjective
@dataclass(frozen=True)
class Adjective:
    """An adjective, the stem that takes German endings, and what it can describe."""

    english: str
    german: str
    stem: str
    kinds: frozenset[str]


# book/4-synthetic-corpus/1-lexicon.ipynb, cell adjective-table
THINGS = "tool vessel clothing device furniture vehicle opening"
BEINGS = "person animal bird"
ADJECTIVE_TABLE = {
    f"{BEINGS} infant": """
        tired müde; hungry hungrig; thirsty durstig; young jung; strong stark; weak
        schwach; sick krank; healthy gesund; brave mutig; lazy faul; curious neugierig;
        clever klug; nervous nervös; patient geduldig; happy glücklich; sad traurig;
        lonely einsam""",
    "person": """
        rich reich; poor arm; polite höflich; friendly freundlich; proud stolz; angry
        wütend""",
    f"{BEINGS} {THINGS} room open": "old alt",
    f"animal bird {THINGS} text room": "beautiful schön",
    f"{BEINGS} infant {THINGS} room": "small klein; big groß",
    f"{THINGS} text": "new neu; expensive teuer teur; cheap billig",
    f"{THINGS}": """
        red rot; blue blau; green grün; yellow gelb; black schwarz; white weiß; brown
        braun; gray grau; clean sauber; dirty schmutzig""",
    "tool vessel furniture device": "heavy schwer; light leicht",
    "vessel": "empty leer; full voll; round rund",
    "clothing": "wet nass; warm warm; dry trocken trocken",
    "device vehicle": "broken kaputt",
    "fruit dish food vegetable": "fresh frisch; delicious lecker",
    "fruit": "ripe reif; sweet süß; sour sauer saur",
    "drink": "cold kalt; hot heiß; bitter bitter",
    "text matter": """
        interesting interessant; boring langweilig; important wichtig; strange seltsam;
        short kurz""",
    "matter": "difficult schwierig; simple einfach; secret geheim",
    "room": "modern modern; dark dunkel dunkl; quiet ruhig",
    "open": "wide breit; dangerous gefährlich",
    "": "narrow schmal",
    "cause": "terrible furchtbar",
}


# book/4-synthetic-corpus/1-lexicon.ipynb, cell adjectives
def read_adjectives() -> dict[str, Adjective]:
    """The adjectives of the table by their English form."""
    adjectives = {}
    for kinds, table in ADJECTIVE_TABLE.items():
        for entry in table.split(";"):
            english, german, *stem = entry.split()
            root = stem[0] if stem else german.removesuffix("e")
            nouns = frozenset(kinds.split())
            adjectives[english] = Adjective(english, german, root, nouns)
    return adjectives


ADJECTIVES = read_adjectives()
# What a thing can be made: the comparative, in English (a word or two) and in German.
COMPARATIVES = {
    "more difficult": "schwieriger",
    "more dangerous": "gefährlicher",
    "more expensive": "teurer",
    "more important": "wichtiger",
    "more interesting": "interessanter",
    "easier": "einfacher",
    "shorter": "kürzer",
    "longer": "länger",
    "more boring": "langweiliger",
}
