"""A bucket of S3, which the server of moto has in memory, and its credentials."""

from __future__ import annotations

import json
import logging
import urllib.request
from typing import Any

import boto3
from moto.server import ThreadedMotoServer

REGION = "us-east-1"


class Moto:
    """moto's server on the loopback interface.

    Attributes
    ----------
    endpoint : str
        Its URL.
    """

    def __init__(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
        self._server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.endpoint = f"http://{host}:{port}"

    def close(self) -> None:
        """End the server."""
        self._server.stop()

    def bucket(self) -> Bucket:
        """Empty the server, and make a bucket."""
        return Bucket(self)

    def call(self, name: str, data: bytes = b"") -> None:
        """Call a function of the server itself, such as `reset`."""
        url, headers = f"{self.endpoint}/moto-api/{name}", {"Content-Type": "text/plain"}
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method="POST")) as answer:
            answer.read()


class Bucket:
    """An empty bucket, the only one of a server, and its only user, without whose credentials nothing is allowed.

    Attributes
    ----------
    name, endpoint, region, key_id, secret : str
    """

    name = "bucket"
    region = REGION

    def __init__(self, moto: Moto):
        moto.call("reset-auth", b"inf")
        moto.call("reset")
        self.endpoint = moto.endpoint
        iam = self._client("iam", "any", "any")
        iam.create_user(UserName="user")
        key = iam.create_access_key(UserName="user")["AccessKey"]
        self.key_id, self.secret = key["AccessKeyId"], key["SecretAccessKey"]
        allowed = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        iam.put_user_policy(UserName="user", PolicyName="all", PolicyDocument=policy)
        self._s3 = self._client("s3", self.key_id, self.secret)
        self._s3.create_bucket(Bucket=self.name)
        moto.call("reset-auth", b"0")

    def _client(self, service: str, key_id: str, secret: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=self.region,
            aws_access_key_id=key_id,
            aws_secret_access_key=secret,
        )

    def put(self, key: str, data: bytes) -> None:
        """Create or replace an object."""
        self._s3.put_object(Bucket=self.name, Key=key, Body=data)

    def get(self, key: str) -> bytes:
        """Return the bytes of an object."""
        data: bytes = self._s3.get_object(Bucket=self.name, Key=key)["Body"].read()
        return data

    def keys(self) -> list[str]:
        """Return the names of all objects."""
        return [found["Key"] for found in self._s3.list_objects_v2(Bucket=self.name).get("Contents", [])]

    def unfinished(self) -> list[str]:
        """Return the names of objects that are being uploaded in parts."""
        return [found["Key"] for found in self._s3.list_multipart_uploads(Bucket=self.name).get("Uploads", [])]
