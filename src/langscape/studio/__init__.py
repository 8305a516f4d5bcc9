"""The studio: a local web application over the library. Everything it computes is a recipe of `run/`.

serve      bind to loopback, print the address, run
app        the routes
guard      who may ask: host, origin, session, sizes; headers of every answer
trouble    the one shape of an error
asks/      what can be asked: settings → recipe, result → views
jobs       asks as jobs that outlive the page and the server
inputs     texts, lists, vectors and tables that were given
pictures   results → views, arrays and files
insertion  new words on a finished map, at once
events     how jobs stand, as server-sent events
"""
