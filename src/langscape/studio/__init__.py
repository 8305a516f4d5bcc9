"""The studio: a local web application over the library. Everything it computes is a recipe of `store/`.

serve      bind to loopback, print the address, run
app        the routes
security   who may ask: host, origin, session, sizes; headers of every answer
problem    the one shape of an error
asks/      what can be asked: settings → recipe, result → views
jobs       asks as jobs that outlive the page and the server
inputs     texts, lists, vectors and tables that were given
pictures   results → views, arrays and files
events     how jobs stand, as server-sent events
"""
