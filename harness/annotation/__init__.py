"""People who judge: a questionnaire about models' answers, the page that asks it, and the table of the ratings.

``questionnaire`` is what is asked, ``study`` the blinded answers it is asked about, ``ratings`` the file of what raters
chose, ``server`` the page, ``table`` what the ratings say, and ``exchange`` their way to and from other programs.
"""
