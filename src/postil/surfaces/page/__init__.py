"""The web page: reading and reviewing in a browser, served by `postil serve --http`."""
