"""The leaderboard as a folder of static pages: from ``file://``, under any path of a web server, without a network.

Layout of a built site::

    index.html                 the only document: policy, style, the names of the pages, the scripts of the first view
    assets/site.css            tokens and components; each colour once, for the dark and the light theme
    assets/*.js                shared code, loaded with the document (``builder.FIRST_SCRIPTS``); shell.js starts
    assets/components/*.js     tooltip, popover and picker, marks (interval, strip, heat, tags), exports; also shared
    assets/board/              the parts of the leaderboard's page
    assets/pages/NAME.js       one page; loaded when a link first leads to ``#/NAME``
    assets/vendor/             third-party scripts, minified, each with its licence
    data/KEY.js                data; loaded when a page asks for KEY
    .build.json                marks the folder as a site, so that a build may replace its contents

Data. A file on disk cannot be fetched from ``file://``, but a classic script can be loaded, so each data file is one
call, ``harness.put("KEY", "JSON as a string")``. :class:`files.SiteFolder` writes them: ``put(key, value)``, where a
key is parts of ``[a-z0-9.-]`` joined by ``/``; :mod:`addresses` makes such parts of the names of models, runs and
scenarios. A page reads them with ``await harness.get("KEY")``.

Parts. A part is a function ``write(snapshot, folder)`` in a module of this package; ``builder.PARTS`` lists them. The
:class:`snapshot.Snapshot` holds all records, read once, and what every part needs of them. Keys by part: ``site``
(first; what all pages know), ``names`` (titles for the identifiers in all others),
``boards/…``, ``models``, ``models/…``, ``scenarios/…``, ``runs/ADDRESS/…``,
``contamination``, ``plots/…``, ``compare/…``, ``search``.

Names. Data have identifiers; ``harness.named(kind, identifier)`` is the element that shows their title, with the
identifier, the definition, the direction, the range and the source on hover, and ``harness.title(kind, identifier)``
the title alone. Kinds are those of :mod:`names`: ``metrics``, ``methods``, ``perturbations``, ``categories``,
``scenarios``. Core has loaded them before a page is rendered.

Pages. A page is ``assets/pages/NAME.js``, which calls ``harness.page("NAME", {title, render(main, path, query)})``:
``render`` is called again whenever the address changes (``#/NAME/path…?query``), is asynchronous, and appends to
``main``, an empty element. A page may also have ``update(path, query)``, which is asked first when only its address
changes, ``drawn()``, ``layout: "pane"`` (fills the window) and ``keys``: see ``harness.page`` in core.js.
``builder.NAVIGATION`` names the pages that the head of every page links to. Every state worth keeping (sorting,
filters, the page of a list) is in the query: ``harness.go(path, query)``, ``harness.link(path, query)``.

Scripts are classic scripts in strict mode inside a function, without a global of their own but ``harness``; no page
sets ``innerHTML``, ``style`` attributes or handlers in attributes, and none evaluates text: elements are made by
``harness.make("p.quiet", {title}, ...children)``, where a text child becomes a text node. Text that comes from models
or data goes through ``harness.text(value)`` (one line) or ``harness.passage(value)`` (many lines), which make control
and bidirectional characters visible and cut what is long. Set sizes and colours through
``element.style.setProperty``, which the policy allows, or classes.
"""
