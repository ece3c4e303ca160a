#!/usr/bin/env python3
"""One tool call with the PyPI `mcp` client: mcp_call.py URL KEY TOOL INPUT prints the result's JSON."""

import asyncio
import json
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main(url, key, tool, given):
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=30) as http:
        async with Client(streamable_http_client(url, http_client=http), mode="auto", read_timeout_seconds=30) as client:
            result = await client.call_tool(tool, json.loads(given))
            if result.is_error:
                sys.exit(f"{tool} failed: {result.content[0].text}")
            print(result.content[0].text)


asyncio.run(main(*sys.argv[1:]))
