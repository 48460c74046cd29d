"""`python -m orchd`: the server in the foreground, with the flags of `twistd orchd`."""

from orchd.programs import run_server

if __name__ == "__main__":
    run_server()
