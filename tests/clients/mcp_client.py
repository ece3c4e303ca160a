#!/usr/bin/env python3
"""Drives a running server's /mcp with the PyPI `mcp` client (2.x), in both protocol eras.

For each era it connects, lists the tools, makes the calls it was given and a call to a tool that
never was, reads the addresses and fetches the prompts it was given. Then it sends as a client that can ask its
person, who says yes, no, and yes without the tick. Every HTTP answer on the way must be JSON or empty and must not start a session.
Exits 1 with one sentence on the first thing that is not as it must be.
"""

import argparse
import asyncio
import json
import sys

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

# The client's connect mode, and the protocol version it must end up with.
ERAS = [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]


class Mismatch(Exception):
    pass


def must(holds, sentence):
    if not holds:
        raise Mismatch(sentence)


async def check_answer(response):
    request = f"{response.request.method} answered {response.status_code}"
    must("mcp-session-id" not in response.headers, f"{request} with an Mcp-Session-Id header")
    body = await response.aread()
    kind = response.headers.get("content-type", "")
    must(not body or kind.startswith("application/json"), f"{request} with a body of type {kind!r}")
    if response.request.method != "POST":
        must(response.status_code == 405, f"{request} instead of 405")


def check_result(name, result):
    text = result.content[0].text
    must(not result.is_error, f"{name} failed: {text}")
    body = json.loads(text)
    expected = {"items": body} if isinstance(body, list) else body
    # What leads to the next page stands beside what REST has in a header.
    shown = {name: value for name, value in result.structured_content.items() if name != "nextCursor"}
    must(shown == expected, f"{name}: structuredContent is not the text's JSON")


async def check_offers(client, args):
    """Addresses and prompts."""
    templates = {one.uri_template for one in (await client.list_resource_templates()).resource_templates}
    wanted = {f"rookery://{what}/{{id}}" for what in ("conversations", "contacts", "documents")}
    must(templates == wanted, f"the templates are {sorted(templates)}")
    must((await client.list_resources()).resources == [], "there are resources without a template")
    for uri in args.read:
        body, said = (await client.read_resource(uri)).contents
        must(json.loads(body.text)["id"] == uri.rsplit("/", 1)[1], f"{uri} is something else")
        must((body.meta or {}).get("untrusted") is True and "data" in said.text, f"{uri} is not marked as untrusted")
    try:
        await client.read_resource("rookery://conversations/cnv_0000000000000")
    except MCPError as error:
        must(error.code in (-32002, -32602), f"what is not there gave {error.code}")
    else:
        raise Mismatch("an address of nothing was read")
    prompts = {one.name for one in (await client.list_prompts()).prompts}
    for name, arguments in args.prompt:
        must(name in prompts, f"the prompts are {sorted(prompts)}")
        messages = (await client.get_prompt(name, json.loads(arguments))).messages
        must("never an instruction" in messages[0].content.text, f"{name} has no rules")


def connect(args, mode, **more):
    headers = {"Authorization": f"Bearer {args.key}"}
    hooks = {"response": [check_answer]}
    http = httpx2.AsyncClient(headers=headers, event_hooks=hooks, timeout=30)
    transport = streamable_http_client(args.url, http_client=http)
    return http, Client(transport, mode=mode, read_timeout_seconds=30, **more)


async def run_asked(args):
    """Sends by a client that can ask: once for each thing that a person can say. Only the new era can be asked."""
    said = [
        ("auto", ElicitResult(action="accept", content={"send": True}), 1, "scheduled"),
        ("auto", ElicitResult(action="accept", content={"send": False}), 1, "draft"),
        ("auto", ElicitResult(action="decline"), 1, "409"),
        ("auto", ElicitResult(action="cancel"), 1, "409"),
        ("legacy", ElicitResult(action="decline"), 0, "scheduled"),
    ]
    for number, (mode, answer, times, outcome) in enumerate(said):
        questions = []

        async def ask(context, params, answer=answer, questions=questions):
            questions.append(params.message)
            return answer

        http, connected = connect(args, mode, elicitation_callback=ask)
        async with http, connected as client:
            body = f"On its way, {number}."
            result = await client.call_tool("reply", {"id": args.send, "body": body, "send": True})
            must(len(questions) == times, f"{mode}: the person was asked {len(questions)} times")
            must(all(body in question for question in questions), f"the question does not show the text: {questions}")
            got = result.content[0].text.split()[0] if result.is_error else result.structured_content["status"]
            must(got == outcome, f"{mode} {answer.action}: {got} instead of {outcome}")
    print(f"ok asked: {len(said)} answers of a person")


async def run_era(mode, version, args):
    http, connected = connect(args, mode)
    async with http:
        async with connected as client:
            got = client.protocol_version
            must(got == version, f"the protocol is {got} instead of {version}")
            if mode != version:  # a pinned version asks the server nothing
                must(client.instructions, "the server gave no instructions")
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            if args.expect_tools is not None:
                expected = {name for name in args.expect_tools.split(",") if name}
                must(set(tools) == expected, f"tools are {sorted(tools)}, not {sorted(expected)}")
            for name, tool in tools.items():
                must(tool.title and tool.description and tool.annotations, f"{name} is not described")
                must(tool.input_schema.get("type") == "object", f"{name}: inputSchema is no object")
            for name, arguments in args.call:
                result = await client.call_tool(name, json.loads(arguments))
                check_result(name, result)
                if tools[name].annotations.read_only_hint:
                    marked = (result.meta or {}).get("untrusted") is True
                    must(marked, f"{name}: the result is not marked as untrusted")
                    said = [block.text for block in result.content[1:]]
                    must(len(said) == 1 and "data" in said[0], f"{name}: the model is not told that it is untrusted")
            await check_offers(client, args)
            try:
                await client.call_tool("tool_that_never_was", {})
            except MCPError as error:
                must(error.code == -32602, f"an unknown tool gave {error.code} instead of -32602")
            else:
                raise Mismatch("an unknown tool was answered")
    print(f"ok {mode}: protocol {version}, {len(tools)} tools, {len(args.call)} calls")


def first_mismatch(error):
    """The client runs its work in task groups, which wrap what went wrong in groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="address of /mcp")
    parser.add_argument("--key", required=True, help="API key")
    parser.add_argument("--expect-tools", metavar="A,B,C", help="exactly these tools are listed")
    parser.add_argument("--call", nargs=2, action="append", default=[], metavar=("NAME", "JSON"))
    parser.add_argument("--read", action="append", default=[], metavar="URI", help="an address that is read")
    parser.add_argument("--prompt", nargs=2, action="append", default=[], metavar=("NAME", "JSON"))
    parser.add_argument("--send", metavar="CONVERSATION", help="replies are sent here, by a client that can ask")
    args = parser.parse_args()
    runs = [(mode, run_era, (mode, version, args)) for mode, version in ERAS]
    if args.send:
        runs.append(("asked", run_asked, (args,)))
    for mode, run, given in runs:
        try:
            asyncio.run(run(*given))
        except Exception as error:
            reason = first_mismatch(error)
            kind = "" if isinstance(reason, Mismatch) else f"{type(reason).__name__}: "
            sys.exit(f"FAILED in mode {mode}: {kind}{reason}")


if __name__ == "__main__":
    main()
