"""The English words for whole numbers, from which patterns and tables of values are built."""

# The words for 1 to 9.
ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
# The words for 10 to 19.
TEENS = (
    *("ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
# The words for 20, 30 and so on up to 90.
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
# For each word from "one" to "twenty" its value. ``VALUE_OF_NUMBER_WORD["seven"]`` is 7.
VALUE_OF_NUMBER_WORD = {word: value for value, word in enumerate((*ONES, *TEENS, TENS[0]), start=1)}
