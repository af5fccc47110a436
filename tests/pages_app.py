"""Pages in Streamlit's own harness, and what tests look for on them."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

APP = "../app.py"


def opened(page: str | None = None, **query: str) -> AppTest:
    test = AppTest.from_file(APP, default_timeout=30)
    for key, value in query.items():
        test.query_params[key] = value
    if page:
        test.switch_page(page)
    test.run()
    assert not test.exception
    return test


def metrics(test: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in test.metric}


def words(test: AppTest) -> str:
    return "\n".join(markdown.value for markdown in test.markdown)
