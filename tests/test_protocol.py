"""The server's answers as a strict client reads them, that of a widespread library, with editors' capabilities."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

pytest_lsp = pytest.importorskip("pytest_lsp")

from lsprotocol import types  # noqa: E402
from protocol import applied  # noqa: E402
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities  # noqa: E402

from adlint import linter  # noqa: E402
from adlint.source import Source  # noqa: E402

PROGRAM = """\
import torch

x = torch.ones(2, requires_grad=True)
loss = (x * x).sum()
loss.backward()
loss.backward()
"""
CONFIG = ClientServerConfig(server_command=[sys.executable, "-m", "adlint", "server"])


def registered(params: types.RegistrationParams) -> None:
    """Take a registration, which the library leaves to its users."""
    assert {one.method.partition("/")[0] for one in params.registrations} == {"workspace"}


@pytest_lsp.fixture(params=["visual_studio_code", "neovim", "emacs"], config=CONFIG)
async def client(request: pytest.FixtureRequest, lsp_client: LanguageClient, tmp_path: Path) -> AsyncIterator[None]:
    """An editor with a folder; its configuration is empty."""
    capabilities = client_capabilities(request.param)
    lsp_client.set_configuration({"adlint": {}})
    lsp_client.feature(types.CLIENT_REGISTER_CAPABILITY)(registered)
    folder = types.WorkspaceFolder(uri=tmp_path.as_uri(), name="here")
    params = types.InitializeParams(capabilities=capabilities, root_uri=folder.uri, workspace_folders=[folder])
    await lsp_client.initialize_session(params)
    yield
    await lsp_client.shutdown_session()


@pytest.mark.asyncio
async def test_a_session(client: LanguageClient, tmp_path: Path) -> None:
    """Finds, offers, resolves, explains; every answer is what the protocol's types demand."""
    uri = (tmp_path / "a.py").as_uri()
    text = types.TextDocumentItem(uri=uri, language_id="python", version=1, text=PROGRAM)
    client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=text))
    found = await diagnostics(client, uri)
    assert [item.code for item in found] == ["AD101"]
    assert found[0].code_description

    identifier = types.TextDocumentIdentifier(uri=uri)
    context = types.CodeActionContext(diagnostics=found)
    params = types.CodeActionParams(text_document=identifier, range=found[0].range, context=context)
    offered = await client.text_document_code_action_async(params)
    assert offered
    kinds = {action.kind for action in offered if isinstance(action, types.CodeAction)}
    assert kinds == {types.CodeActionKind.QuickFix, "source.fixAll.adlint"}
    for action in offered:
        if isinstance(action, types.Command):  # the library takes an action with a command for the command itself
            assert action.title == "AD101: explain double-backward"
            continue
        if action.edit is None and action.command is None:
            action = await client.code_action_resolve_async(action)
        assert action.edit or action.command
        if action.kind == "source.fixAll.adlint":
            assert applied(PROGRAM, edits(client, action)) == linter.fix(Source("a.py", PROGRAM)).text

    command = types.ExecuteCommandParams(command="adlint.explainRule", arguments=["double-backward"])
    assert "AD101" in await client.workspace_execute_command_async(command)

    silenced = PROGRAM.rstrip("\n") + "  # adlint: ignore[AD101]\n"
    version = types.VersionedTextDocumentIdentifier(uri=uri, version=2)
    change = types.TextDocumentContentChangeWholeDocument(text=silenced)
    client.text_document_did_change(types.DidChangeTextDocumentParams(text_document=version, content_changes=[change]))
    assert await diagnostics(client, uri) == []
    place = types.Position(line=5, character=40)
    hover = await client.text_document_hover_async(types.HoverParams(text_document=identifier, position=place))
    assert hover
    assert isinstance(hover.contents, types.MarkupContent)


async def diagnostics(client: LanguageClient, uri: str) -> list[types.Diagnostic]:
    """Ask for what is found if the server can be asked, else wait for it."""
    answer = client.init_result.capabilities.diagnostic_provider if hasattr(client, "init_result") else None
    announced = client.capabilities.text_document
    if answer or (announced and announced.diagnostic):
        identifier = types.TextDocumentIdentifier(uri=uri)
        params = types.DocumentDiagnosticParams(text_document=identifier)
        report = await client.text_document_diagnostic_async(params)
        assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
        return list(report.items)
    await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    return list(client.diagnostics[uri])


def edits(client: LanguageClient, action: types.CodeAction) -> list[dict[str, object]]:
    """Return the edits of an action as they were sent."""
    assert action.edit
    if action.edit.changes:
        found = [edit for made in action.edit.changes.values() for edit in made]
    else:
        changes = action.edit.document_changes or []
        found = [edit for one in changes if isinstance(one, types.TextDocumentEdit) for edit in one.edits]
    result: list[dict[str, object]] = client.protocol._converter.unstructure(found)
    return result
