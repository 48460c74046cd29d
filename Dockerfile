# A server in a container: docker build -t orchd .
#
# It runs as user 65532 and writes only to /var/lib/orchd, so the root file system can be read-only:
#   docker run --read-only --cap-drop=ALL -v orchd:/var/lib/orchd -p 6443:6443 orchd
# Arguments are flags of the server. Other programs: --entrypoint=orch-scheduler, orch-controller-manager, orchd-store.

ARG PYTHON=3.13-slim

FROM python:${PYTHON} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/orchd
COPY . /src
# Modules are compiled here, since the server cannot write beside them; pip is not needed at run time.
RUN /opt/orchd/bin/pip install --quiet '/src[scheduler,etcd,secretbox,tracing]' \
    && /opt/orchd/bin/twistd --help > /dev/null \
    && /opt/orchd/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/orchd/lib \
    && /opt/orchd/bin/pip uninstall --quiet --yes pip \
    && install -d -o 65532 -g 65532 -m 0700 /data

FROM python:${PYTHON}
COPY --from=build /opt/orchd /opt/orchd
COPY --from=build --chown=65532:65532 /data /var/lib/orchd
ENV PATH=/opt/orchd/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
WORKDIR /var/lib/orchd
VOLUME /var/lib/orchd
EXPOSE 6443
# The server completes running requests, then exits.
STOPSIGNAL SIGTERM
ENTRYPOINT ["orchd", "--data-dir=/var/lib/orchd"]
CMD ["--bind-address=0.0.0.0"]
