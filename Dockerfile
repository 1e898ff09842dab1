# docker build -t prefrag .                                   docs/containers.md has the rest
# docker build -t prefrag --build-arg EXTRAS="files mcp" .
ARG BASE=docker.io/library/python:3.13-slim-trixie

FROM ${BASE} AS build
# The extras of pyproject.toml that go into the image.
ARG EXTRAS="files"
WORKDIR /build
# The secret `pip` is a pip.conf for a package index of your own; no layer keeps it.
RUN python -m venv --without-pip /opt/prefrag
COPY requirements.lock requirements-dev.lock ./
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    pip --python /opt/prefrag/bin/python install --no-cache-dir --no-deps -r requirements.lock
COPY LICENSE README.md pyproject.toml setup.py ./
COPY cli ./cli
COPY components ./components
COPY demo ./demo
COPY evaluation ./evaluation
COPY indexing ./indexing
COPY pipelines ./pipelines
COPY prefrag ./prefrag
COPY server ./server
COPY training ./training
COPY yaml_pipelines ./yaml_pipelines
RUN --mount=type=secret,id=pip,target=/etc/pip.conf \
    pip wheel --no-cache-dir --no-deps --wheel-dir wheel . && \
    pip --python /opt/prefrag/bin/python install --no-cache-dir --constraint requirements-dev.lock \
      "$(ls wheel/*.whl)${EXTRAS:+[$(echo ${EXTRAS} | tr ' ' ',')]}"

FROM ${BASE}
# A fixed number, so that folders of the host can be given to this user.
RUN groupadd --gid 10001 prefrag && \
    useradd --uid 10001 --gid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin prefrag && \
    install --directory --owner=10001 --group=10001 --mode=0700 /data
COPY --from=build /opt/prefrag /opt/prefrag
ENV PATH=/opt/prefrag/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HF_HOME=/data/models \
    PREFRAG_DATA_DIR=/data
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 1416
STOPSIGNAL SIGTERM
# Liveness: /ready would cause a restart whenever Elasticsearch or the model is away. Proxy settings are ignored.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "from urllib.request import ProxyHandler, build_opener; build_opener(ProxyHandler({})).open('http://127.0.0.1:1416/live', timeout=4)"]
ENTRYPOINT ["prefrag"]
CMD ["serve", "--host", "0.0.0.0"]
