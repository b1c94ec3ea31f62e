"""Verbs in both languages, with all their forms.

From "Lexicon":
https://github.com/OWNER/aiayn/blob/main/book/4-synthetic-corpus/1-lexicon.ipynb
Generated from a chapter of the book: edit that, then run `make export`.
"""

# book/4-synthetic-corpus/1-lexicon.ipynb, cell verbs-imports
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

from aiayn.synthetic.grammar.lexicon import BEINGS, THINGS, Noun, select


# book/4-synthetic-corpus/1-lexicon.ipynb, cell verb
@dataclass(frozen=True)
class Verb:
    """A verb in both languages, and what can do it to what.

    `english` holds base, third person, past, participle and -ing form; `particle` is
    what stands apart (call … up), `preposition` what goes with the object (look for).
    `german` holds infinitive, first and third person, past, and participle, all without
    `prefix`, which German splits off in main clauses (anrufen: ruft … an). `case` is
    that of the object; `state` verbs have no progressive.
    """

    english: tuple[str, str, str, str, str]
    german: tuple[str, str, str, str, str]
    particle: str = ""
    preposition: str = ""
    prefix: str = ""
    auxiliary: str = "haben"
    case: str = "acc"
    aspect: str = "action"
    subjects: tuple[Noun, ...] = ()
    objects: tuple[Noun, ...] = ()

    def german_finite(self, person: int, plural: bool, past: bool) -> str:
        """The form that agrees with the subject."""
        infinitive, first, third, imperfect, _ = self.german
        if not past:
            return infinitive if plural else first if person == 1 else third
        ending = "n" if imperfect.endswith("e") else "en"
        return imperfect + ending if plural else imperfect

    def english_finite(self, person: int, plural: bool, past: bool) -> str:
        """The form that agrees with the subject."""
        base, third, imperfect, _, _ = self.english
        return imperfect if past else base if plural or person == 1 else third


# book/4-synthetic-corpus/1-lexicon.ipynb, cell english-forms
DOUBLED = "get run swim stop put sit cut forget fit".split()  # getting, stopped


def english_forms(parts: list[str]) -> tuple[str, str, str, str, str]:
    """Base, third person, past, participle and -ing form, from the listed ones."""
    base = parts[0]
    consonant_y = base[-1] == "y" and base[-2] not in "aeiou"
    hissing = base.endswith(("s", "sh", "ch", "o"))
    third = base[:-1] + "ies" if consonant_y else base + ("es" if hissing else "s")
    stem = base + base[-1] if base in DOUBLED else base.removesuffix("e")
    root = base[:-1] + "i" if consonant_y else stem
    past = parts[1] if len(parts) > 1 else root + "ed"
    participle = parts[2] if len(parts) > 2 else past
    if base.endswith("ie"):  # lying
        stem = base[:-2] + "y"
    elif base.endswith("ee"):  # seeing
        stem = base
    return base, third, past, participle, stem + "ing"


# book/4-synthetic-corpus/1-lexicon.ipynb, cell german-forms
def german_forms(parts: list[str]) -> tuple[str, str, str, str, str]:
    """Infinitive, first and third person, past, participle, from the listed ones."""
    infinitive = parts[0]
    stem = infinitive.removesuffix("n").removesuffix("e")
    # arbeitet, zeichnet, öffnet
    linked = stem + "e" if stem.endswith(("t", "d", "chn", "ffn")) else stem
    regular = (linked + "t", linked + "te")
    third, past = (parts[1], parts[2]) if len(parts) > 2 else regular
    participle = parts[-1] if len(parts) in (2, 4) else f"ge{linked}t"
    return infinitive, third if third == "weiß" else stem + "e", third, past, participle


# book/4-synthetic-corpus/1-lexicon.ipynb, cell read-verbs
def read_verbs(table: str) -> tuple[Verb, ...]:
    """The verbs of a table: English = German, options : subjects : objects.

    A line that is indented goes on with the one above.
    """
    verbs = []
    for line in dedent(table).replace("\n    ", " ").strip().splitlines():
        words, subjects, *objects = (part.strip() for part in line.split(":"))
        english, german = (side.split() for side in words.split(" = "))
        base, _, particle = english[0].partition("+")
        base, _, preposition = base.partition("/")
        prefix, _, infinitive = german[0].rpartition("+")
        options = {"sein", "dat", "state", "event"} & set(german[1:])
        forms = [word for word in german[1:] if word not in options]
        verb = Verb(
            english_forms([base, *english[1:]]),
            german_forms([infinitive, *forms]),
            particle,
            preposition,
            prefix,
            auxiliary="sein" if "sein" in options else "haben",
            case="dat" if "dat" in options else "acc",
            aspect=next(iter(options & {"state", "event"}), "action"),
            subjects=select(subjects.format(beings=BEINGS, things=THINGS)),
            objects=select("".join(objects).format(beings=BEINGS, things=THINGS)),
        )
        verbs.append(verb)
    return tuple(verbs)


# book/4-synthetic-corpus/1-lexicon.ipynb, cell intransitive
INTRANSITIVE = read_verbs("""
    sleep slept = schlafen schläft schlief geschlafen : {beings} infant
    laugh = lachen : person infant
    cry = weinen : person infant
    sing sang sung = singen singt sang gesungen : person bird
    dance = tanzen : person bear
    work = arbeiten : person
    wait = warten : person animal
    dream = träumen : person animal
    swim swam swum = schwimmen schwimmt schwamm geschwommen sein : person animal duck
        goose
    play = spielen : person animal
    whistle = pfeifen pfeift pfiff gepfiffen : person
    snore = schnarchen : person dog bear
    cough = husten : person
    bark = bellen : dog fox
    wake+up woke woken = auf+wachen sein event : {beings} infant
    get+up got gotten = auf+stehen steht stand gestanden sein event : {beings}
    come+back came come = zurück+kommen kommt kam gekommen sein event : {beings} ship
        bus
    arrive = an+kommen kommt kam gekommen sein event : person vehicle letter package
        postcard
    stop = an+halten hält hielt gehalten event : vehicle driver
    fall+over fell fallen = um+fallen fällt fiel gefallen sein event : vessel furniture
        lamp bicycle
    disappear = verschwinden verschwindet verschwand verschwunden sein event : {beings}
        tool
    burn = brennen brennt brannte gebrannt : house barn church candle castle
""")


# book/4-synthetic-corpus/1-lexicon.ipynb, cell transitive
TRANSITIVE = read_verbs("""
    eat ate eaten = essen isst aß gegessen : person : fruit vegetable dish food
    eat ate eaten = fressen frisst fraß gefressen : animal bird : fruit vegetable dish
        bread cheese meat
    drink drank drunk = trinken trinkt trank getrunken : person : drink
    drink drank drunk = trinken trinkt trank getrunken : animal bird infant : water milk
    write wrote written = schreiben schreibt schrieb geschrieben : person : text
    read read = lesen liest las gelesen : person : text
    buy bought = kaufen : person : fruit vegetable dish food drink {things} text
    sell sold = verkaufen verkauft verkaufte verkauft : person : fruit vegetable dish
        food drink {things} text
    find found = finden findet fand gefunden event : person : tool vessel clothing text
        animal
    lose lost = verlieren verliert verlor verloren event : person : tool clothing text
        bag suitcase game
    carry = tragen trägt trug getragen : person : vessel tool furniture child baby lamb
    wash = waschen wäscht wusch gewaschen : person : clothing cup glass plate pot fruit
        vehicle child baby dog
    clean = putzen : person : furniture opening kitchen office shoe bicycle
    repair = reparieren repariert reparierte repariert : person : device vehicle
        furniture opening
    draw drew drawn = zeichnen : person : animal bird flower map house tower bridge tree
    see saw seen = sehen sieht sah gesehen state : person animal : person animal bird
        vehicle tower
    hear heard = hören state : person animal : person animal bird violin radio train
    watch = beobachten beobachtet beobachtete beobachtet : person cat dog : {beings}
        baby ship
    visit = besuchen besucht besuchte besucht : person : person museum castle school
        village city church
    help = helfen hilft half geholfen dat : person : person animal
    thank = danken dat : person : person
    follow = folgen sein dat : person animal : person animal bird vehicle
    trust = vertrauen vertraut vertraute vertraut dat state : person dog horse : person
    answer = antworten dat : person : person
    love = lieben state : person : person baby animal cake chocolate
    know knew known = kennen kennt kannte gekannt state : person : person city village
        story answer
    meet met = treffen trifft traf getroffen event : person : person
    greet = begrüßen begrüßt begrüßte begrüßt event : person : person
    invite = ein+laden lädt lud geladen event : person : person
    praise = loben : person : person dog child
    comfort = trösten tröstet tröstete getröstet : person : person baby
    cross = überqueren überquert überquerte überquert : person animal vehicle : open
""")


# book/4-synthetic-corpus/1-lexicon.ipynb, cell transitive-2
TRANSITIVE += read_verbs("""
    describe = beschreiben beschreibt beschrieb beschrieben : person : picture person
        castle journey plan
    explain = erklären erklärt erklärte erklärt : person : matter
    sign = unterschreiben unterschreibt unterschrieb unterschrieben : person : contract
        letter report law
    solve = lösen : person : task problem
    forget forgot forgotten = vergessen vergisst vergaß vergessen event : person : tool
        clothing text task
    understand understood = verstehen versteht verstand verstanden state : person : text
        task problem question
    need = brauchen state : person : tool vessel clothing device furniture vehicle
    look/for = suchen : {beings} : fruit vegetable
    look/for = suchen : person : tool clothing vessel text person animal house
    hide hid hidden = verstecken versteckt versteckte versteckt : person fox monkey :
        tool letter egg
    steal stole stolen = stehlen stiehlt stahl gestohlen event : thief boy fox monkey :
        tool sausage bicycle
    build built = bauen : person : house tower bridge boat ship table church
    catch caught = fangen fängt fing gefangen event : person cat eagle wolf : mouse
        rabbit fox bird ball thief
    feed fed = füttern : person : animal bird baby
    bake = backen backt backte gebacken : person : cake cookie roll pizza pancake bread
    cook = kochen : person : soup potato egg rice
    cut cut = schneiden schneidet schnitt geschnitten : person : cake bread sausage
        carrot tomato rope
    break broke broken = zerbrechen zerbricht zerbrach zerbrochen event : person cat dog
        : cup glass plate
    pull = ziehen zieht zog gezogen : horse tractor camel : carriage boat
    push = schieben schiebt schob geschoben : person : bicycle car carriage table
    ride rode ridden = reiten reitet ritt geritten : person : horse camel elephant
    bite bit bitten = beißen beißt biss gebissen event : dog snake cat monkey : person
        animal
    chase = jagen : dog wolf lion bear fox cat : animal bird thief
    open = öffnen : person : opening letter bottle bag box suitcase basket drawer
        package
    close = schließen schließt schloss geschlossen : person : opening drawer suitcase
        book
""")


# book/4-synthetic-corpus/1-lexicon.ipynb, cell particle-verbs
# English sets the particle after the object, German its prefix at the sentence's end.
PARTICLE = read_verbs("""
    call+up = an+rufen ruft rief gerufen : person : person
    pick+up = ab+holen : person : person package suitcase car
    throw+away threw thrown = weg+werfen wirft warf geworfen : person : tool vessel
        clothing text
    turn+off = aus+schalten schaltet schaltete geschaltet : person : device
    turn+on = ein+schalten schaltet schaltete geschaltet : person : device
    put+on put = an+ziehen zieht zog gezogen : person : coat shirt shoe dress jacket
        glove
    put+on put = auf+setzen : person : hat cap
    take+off took taken = aus+ziehen zieht zog gezogen : person : coat shirt shoe dress
        jacket glove
    take+off took taken = ab+setzen : person : hat cap
    bring+back brought = zurück+bringen bringt brachte gebracht : person : tool text
        vessel car bicycle
    give+back gave given = zurück+geben gibt gab gegeben : person : tool text clothing
    write+down wrote written = auf+schreiben schreibt schrieb geschrieben : person :
        poem recipe question
    wake+up woke woken = wecken : person dog : person baby
    burn+down = nieder+brennen brennt brannte gebrannt : soldier thief : house barn
        castle church
""")
DITRANSITIVE = read_verbs("""
    give gave given = geben gibt gab gegeben event : person : fruit dish {things} text
    show showed shown = zeigen : person : tool vessel clothing text vehicle room
    send sent = schicken : person : letter postcard package flower picture report
    bring brought = bringen bringt brachte gebracht : person : fruit dish food drink
        text vessel flower
    lend lent = leihen leiht lieh geliehen event : person : tool vessel clothing text
        vehicle
    sell sold = verkaufen verkauft verkaufte verkauft : person : vehicle clothing fruit
    promise = versprechen verspricht versprach versprochen event : person : cake ring
        answer bicycle
""")


# book/4-synthetic-corpus/1-lexicon.ipynb, cell motion
MOTION = read_verbs("""
    go went gone = gehen geht ging gegangen sein : person
    run ran run = rennen rennt rannte gerannt sein : person animal
    walk = laufen läuft lief gelaufen sein : person animal
    jump = springen springt sprang gesprungen sein : person animal
    drive drove driven = fahren fährt fuhr gefahren sein : person car bus truck taxi
        tractor
    fly flew flown = fliegen fliegt flog geflogen sein : bird
    climb = klettern sein : person monkey bear cat
    travel = reisen sein : person
""")
POSITION = read_verbs("""
    sit sat = sitzen sitzt saß gesessen : {beings} infant
    stand stood = stehen steht stand gestanden : {beings} vessel furniture vehicle lamp
    lie lay lain = liegen liegt lag gelegen : {beings} tool text clothing
""")
PLACING = read_verbs("""
    put put = legen event : person : text tool clothing
    put put = stellen event : person : cup glass bottle plate bucket pot package lamp
        radio
    throw threw thrown = werfen wirft warf geworfen event : person : tool clothing
""")
SAYING = read_verbs("""
    say said = sagen : person
    think thought = denken denkt dachte gedacht state : person
    know knew known = wissen weiß wusste gewusst state : person
    believe = glauben state : person
    hope = hoffen state : person
    hear heard = hören state : person
""")
MAKE, FIT = read_verbs("""
    make made = machen : cause person : matter
    fit fit = passen passt passte gepasst state : tool vessel clothing text
""")


# book/4-synthetic-corpus/1-lexicon.ipynb, cell auxiliaries
def irregular(english: str, german: str) -> Verb:
    """A verb that no rule makes: five English and five German forms."""
    ours: Any = tuple(english.split())
    theirs: Any = tuple(german.split())
    return Verb(ours, theirs, aspect="state")


BE = irregular("be is was been being", "sein bin ist war gewesen")
HAVE = irregular("have has had had having", "haben habe hat hatte gehabt")
WILL = irregular("will will would - -", "werden werde wird wurde -")
MODALS = {
    "can": irregular("can can could - -", "können kann kann konnte -"),
    "must": irregular("must must had_to - -", "müssen muss muss musste -"),
    "want": irregular("want_to wants_to wanted_to - -", "wollen will will wollte -"),
    "should": irregular("should should should - -", "sollten sollte sollte sollte -"),
    "not-must": irregular("must must must - -", "dürfen darf darf durfte -"),
}
AUXILIARIES = {"haben": HAVE, "sein": BE}
