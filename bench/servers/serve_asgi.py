"""Serve an application as Postil serves itself: uvicorn with httptools and uvloop, on a free port that it prints."""

import socket
import sys

import uvicorn


def serve(app) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], file=sys.stderr, flush=True)
    config = uvicorn.Config(app, http="httptools", loop="uvloop", log_level="error", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])
