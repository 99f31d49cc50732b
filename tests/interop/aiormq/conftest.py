# SPDX-License-Identifier: Apache-2.0
"""The two session fixtures that aiormq's suite takes from its repository's root, which is not in the source package: a broker and its address."""
import pytest
from tests.docker_client import DockerClient
from yarl import URL


@pytest.fixture(scope="session")
def rabbitmq_container():
    client = DockerClient()
    info = client.run("mosquito/aiormq-rabbitmq", ["5672/tcp", "5671/tcp"])
    yield info
    client.kill(info.id)
    client.remove(info.id)


@pytest.fixture(scope="session")
def amqp_direct_url(rabbitmq_container):
    return URL.build(scheme="amqp", user="guest", password="guest", path="//", host=rabbitmq_container.host,
                     port=rabbitmq_container.ports["5672/tcp"])
