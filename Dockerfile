# Two images: `ledger`, the app, and `proxy`, nginx with the files that it serves from disk.
# docker build --target ledger --tag ledger . && docker build --target proxy --tag ledger-proxy .
FROM python:3.11.14-slim-bookworm AS built
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/ledger
WORKDIR /ledger
COPY pyproject.toml constraints.txt README.md LICENSE command.py app.py serve.py ./
COPY calc calc
COPY presets presets
RUN /opt/ledger/bin/python -m pip install --constraint constraints.txt --editable .
COPY .streamlit .streamlit
COPY pages pages
COPY locales locales
COPY docs docs
COPY deploy deploy
# The root of a running container may be read-only.
RUN /opt/ledger/bin/python -m compileall -q /opt/ledger/lib /ledger
# As compose.yaml names its services.
RUN /opt/ledger/bin/python deploy/proxy.py /proxy --worker ledger-1:8501 --worker ledger-2:8501 \
    --port 8443 --tls /run/secrets/certificate /run/secrets/key --at /tmp/nginx

FROM nginx:1.28.0-bookworm AS proxy
COPY --from=built /proxy /proxy
USER 10001
EXPOSE 8443
STOPSIGNAL SIGQUIT
ENTRYPOINT ["sh", "-c", "mkdir -p /tmp/nginx && exec nginx -e stderr -c /proxy/nginx.conf -g 'daemon off;'"]

FROM python:3.11.14-slim-bookworm AS ledger
COPY --from=built /opt/ledger /opt/ledger
COPY --from=built /ledger /ledger
WORKDIR /ledger
USER 10001
ENV HOME=/tmp PYTHONDONTWRITEBYTECODE=1 \
    STREAMLIT_SERVER_ADDRESS=0.0.0.0 STREAMLIT_SERVER_PORT=8501 \
    STREAMLIT_SERVER_BASE_URL_PATH=ledger STREAMLIT_SERVER_FILE_WATCHER_TYPE=none
EXPOSE 8501
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD ["/opt/ledger/bin/python", "-c", \
    "import os, urllib.request as web; e = os.environ; web.urlopen('http://localhost:' + e['STREAMLIT_SERVER_PORT'] + '/' + e['STREAMLIT_SERVER_BASE_URL_PATH'] + '/_stcore/health', timeout=2)"]
ENTRYPOINT ["/opt/ledger/bin/python", "deploy/start.py"]
