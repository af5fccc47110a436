"""What every error that a user of the calculation meets has in common."""


class LedgerError(ValueError):
    """What was given cannot be used; the message says what it is and why, in the reader's language.

    Errors of single modules derive from it, so that one ``except`` meets them all.
    """
