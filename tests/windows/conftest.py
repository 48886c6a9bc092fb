# SPDX-License-Identifier: Apache-2.0
import pytest
from daemons import Starter


@pytest.fixture
def start(tmp_path):
    """Starts daemons, which end with the test."""
    starter = Starter(tmp_path)
    yield starter
    starter.stop()
