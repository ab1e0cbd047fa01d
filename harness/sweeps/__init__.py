"""From a YAML sweep to resolved run specs, with every error in it reported.

::

    load.py             the file, its plugins, models, defaults and entries: one Sweep
      keys.py           the keys of a sweep, of its defaults and of a run, as pydantic models
      tags.py           an entry that names a tag: one entry for each scenario with it
      expand.py         one entry: its scenario's parameters x its adapter's settings x its models
        written.py      a component as it was written, as text (shorthand.py) or as a mapping
        components.py   the plugins that are named, with sets and defaults filled in
        adapter_settings.py   an adapter's settings: the entry's before the defaults', the scenario's, the method's
        fan_out.py      arguments checked; lists make one run for each value
      scores.py         the sweep's composite scores, and the runs that each needs
      context.py        what the entries share; diagnostics.py: all errors and warnings with their places

    foreign_names.py    what other programs call things, for hints
    json_schema.py      the JSON Schema of a sweep file, for editors
"""
