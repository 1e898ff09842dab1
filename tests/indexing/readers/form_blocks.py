"""Blocks of cells that are forms, and blocks of the same shape that are tables.

The cells are divided by bars. A star before a cell means bold letters, a hash a background. A greater-than sign and a
number behind a cell means that it is merged over so many columns.
"""

FORMS = (
    # Values of several kinds.
    (
        "Customer | Castle Green\nEngineer | Tomasz\nDate | 3 May 2026\nOrder | 4711",
        "Customer: Castle Green; Engineer: Tomasz; Date: 3 May 2026; Order: 4711",
    ),
    (
        "Client | Castle Green\nContact | ann@castle.example\nVisit | 2026-05-03\nEngineer | Tomasz",
        "Client: Castle Green; Contact: ann@castle.example; Visit: 2026-05-03; Engineer: Tomasz",
    ),
    (
        "Customer | Castle Green | Date | 3 May 2026\nEngineer | Tomasz | Order | 4711",
        "Customer: Castle Green; Date: 3 May 2026; Engineer: Tomasz; Order: 4711",
    ),
    # A gap between the pairs, and a title.
    (
        "Job sheet | | | |\nCustomer | Castle Green | | Date | 3 May 2026\nEngineer | Tomasz | | Order | 4711",
        "Job sheet; Customer: Castle Green; Date: 3 May 2026; Engineer: Tomasz; Order: 4711",
    ),
    # Wide values, and a text between the pairs.
    (
        "Customer | Castle Green | Date | 3 May 2026\nSite | Mill Lane>3\nVisit>4\nEngineer | Tomasz | Order | 4711",
        "Customer: Castle Green; Date: 3 May 2026; Site: Mill Lane; Visit; Engineer: Tomasz; Order: 4711",
    ),
    # Colons.
    ("Customer: | Castle Green\nEngineer: | Tomasz", "Customer: Castle Green; Engineer: Tomasz"),
    (
        "Customer: | Castle Green | Site: | Mill Lane\nEngineer: | Tomasz | Helper: | Ian",
        "Customer: Castle Green; Site: Mill Lane; Engineer: Tomasz; Helper: Ian",
    ),
    (
        "Name: | Ada | Born: | 3 May 1990 | Class: | Blue\nParent: | Bo | Phone: | 0471 22 | Bus: | 7",
        "Name: Ada; Born: 3 May 1990; Class: Blue; Parent: Bo; Phone: 0471 22; Bus: 7",
    ),
    ("Customer: | Castle Green\nSignature: |\nEngineer: | Tomasz", "Customer: Castle Green; Engineer: Tomasz"),
    ("Site: | Mill Lane 5\n | Ulby\nEngineer: | Tomasz", "Site: Mill Lane 5, Ulby; Engineer: Tomasz"),
    (
        "Customer: Castle Green | Date: 3 May 2026\nEngineer: Tomasz | Order: 4711",
        "Customer: Castle Green; Date: 3 May 2026; Engineer: Tomasz; Order: 4711",
    ),
    # Marked labels.
    ("*Customer | Castle Green\n*Engineer | Tomasz", "Customer: Castle Green; Engineer: Tomasz"),
    ("#Customer | Castle Green\n#Engineer | Tomasz", "Customer: Castle Green; Engineer: Tomasz"),
    (
        "*Customer | Castle Green | *Site | Mill Lane\n*Engineer | Tomasz | *Helper | Ian",
        "Customer: Castle Green; Site: Mill Lane; Engineer: Tomasz; Helper: Ian",
    ),
    # A first value that names no column.
    ("Bow | The front of the boat.\nStern | Its back, where the engine is.", None),
    ("Christmas | 21 December 2026\nEaster | 29 March 2027", "Christmas: 21 December 2026; Easter: 29 March 2027"),
    ("Office | 0471 220 11\nYard | 0471 220 12", "Office: 0471 220 11; Yard: 0471 220 12"),
    # A day, a time or a long number above words.
    (
        "Date | 3 May 2026\nPlace | Boathouse\nPresent | Una, Arne",
        "Date: 3 May 2026; Place: Boathouse; Present: Una, Arne",
    ),
    ("Begin | 19:30\nPlace | Boathouse", "Begin: 19:30; Place: Boathouse"),
    ("Begin | 7 pm\nPlace | Boathouse\nFee | None", "Begin: 7 pm; Place: Boathouse; Fee: None"),
    ("Order | 47112093\nClient | Castle Green", "Order: 47112093; Client: Castle Green"),
    # The same labels on both sides.
    (
        "Name | Ada | Name | Tomasz\nRole | Owner | Role | Tenant",
        "Name: Ada; Name 2: Tomasz; Role: Owner; Role 2: Tenant",
    ),
    # Boxes of sentences.
    ("Call the office before work. | Close the valve first.\nThe keys are with Ada. | Switch off the gas.", None),
    (f"{'The owner of the house ' * 5} | {'The engineer of it ' * 6}\n{'The pump ' * 12} | {'A tank ' * 16}", None),
)
"""Each form with the line that it becomes; None if it becomes a line for each pair or sentence, or stays as above."""

TABLES = (
    (
        "Term | Meaning\nBow | The front of the boat.\nStern | The back of the boat.",
        "Term: Bow; Meaning: The front of the boat.",
    ),
    ("English | German\nBow | Bug\nStern | Heck", "English: Bow; German: Bug"),
    ("Item | Price\nTea | 3.50\nCake | on request", "Item: Tea; Price: 3.50"),
    ("Item | Price\nTea | 3.50\nBoat hire | 12 per hour", "Item: Tea; Price: 3.50"),
    ("Name | Phone\nAda Bell | 0471 220 11\nBob Stone | 0471 220 12", "Name: Ada Bell; Phone: 0471 220 11"),
    ("Name | Contact\nAda | 0471 220 11\nBob | bob@x.example", "Name: Ada; Contact: 0471 220 11"),
    ("Name | Address\nAda Bell | 5 Mill Lane\nBob Stone | Quay 7", "Name: Ada Bell; Address: 5 Mill Lane"),
    ("Milestone | Date\nStart | 2026-05-03\nTest | 2026-06-09\nEnd | open", "Milestone: Start; Date: 2026-05-03"),
    ("Cost | 2025\nRent | 900\nFood | 80", "Cost: Rent; 2025: 900"),
    ("Cost | May 2026\nRent | 900\nHeat | n/a", "Cost: Rent; May 2026: 900"),
    ("Meter | 3 May 2026\nGas | 512\nWater | 77\nPower | n/a", "Meter: Gas; 3 May 2026: 512"),
    # Few words that occur again below a day, or words in small letters.
    ("Name | 3 May 2026\nUna | Present\nBen | Away\nIda | Present", "Name: Una; 3 May 2026: Present"),
    ("Name | 3 May 2026\nUna | yes\nBen | no", "Name: Una; 3 May 2026: yes"),
    (
        "Name | 3 May 2026 | 9 May 2026\nUna | Bar | Door\nBen | Door | Bar",
        "Name: Una; 3 May 2026: Bar; 9 May 2026: Door",
    ),
    ("Rope | 12\nColour | Red", "Rope; 12"),
    ("Item | Price\nTea | 3\nCake | 5\nSoup | 6\nPie | 7\nValid until | 3 May 2026", "Item: Tea; Price: 3"),
    ("Test | Result\nPressure | Pass\nFlow | 5", "Test: Pressure; Result: Pass"),
    ("Monday | Tuesday\nAda | Bob\nCleo | Ada", "Monday: Ada; Tuesday: Bob"),
    (
        "Time | Monday | Tuesday | Friday\n9:00 | Maths | Art | Music\n10:00 | Art | Maths | Sport",
        "Time: 9:00; Monday: Maths; Tuesday: Art; Friday: Music",
    ),
    (
        "Name | Role | City | Phone\nAda | Cook | Ulby | 0471 220 11\nBob | Mate | Norwick | 0471 220 12",
        "Name: Ada; Role: Cook; City: Ulby; Phone: 0471 220 11",
    ),
    (
        "Course | Teacher | Day | Fee\nTurning | Cleo | Monday | 120\nCarving | Per | Tuesday | 95",
        "Course: Turning; Teacher: Cleo; Day: Monday; Fee: 120",
    ),
    (
        "Event | Place | Host | Date\nRegatta | Norwick | Ada | 3 May 2026\nFair | Ulby | Bob | 9 June 2026",
        "Event: Regatta; Place: Norwick; Host: Ada; Date: 3 May 2026",
    ),
    (
        "Boat | Remark | Berth\nTern | 3 May 2026 | 7\nSkua | 0471 220 11 | 8",
        "Boat: Tern; Remark: 3 May 2026; Berth: 7",
    ),
    # Rows without names of columns.
    (
        "Ada Bell | 0471 220 11 | Cook | ada@x.example\nBob Stone | 0471 220 12 | Mate | bob@x.example",
        "Ada Bell; 0471 220 11; Cook; ada@x.example",
    ),
    # A column that the file sets off by bold letters.
    ("Name: | City:\nAda | Ulby\nBob | Norwick", "Name:: Ada; City:: Ulby"),
    ("*Plan | *Basic\n*Storage | 5 GB\n*Support | mail", "Plan: Storage; Basic: 5 GB"),
    (
        "Question | Answer\nWhere is the key? | The key is with Ada Bell.",
        "Question: Where is the key?; Answer: The key is with Ada Bell.",
    ),
    # Nothing shows whether this is a form.
    ("Customer | Castle Green\nEngineer | Tomasz", "Customer: Engineer; Castle Green: Tomasz"),
)
"""Each table with its first line."""
