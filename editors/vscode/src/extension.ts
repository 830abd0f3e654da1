// The adlint extension: finds the server, starts it, and shows what it answers.

import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import { homedir } from "node:os";
import * as vscode from "vscode";
import {
  type DynamicFeature,
  ExecuteCommandRequest,
  LanguageClient,
  type ServerOptions,
  type StaticFeature,
} from "vscode-languageclient/node";
import { type Command, type Computer, findServer, type Search } from "./command.ts";

const FIX_ALL = "source.fixAll.adlint";
const CELL_SCHEME = "vscode-notebook-cell";
const RULE_SCHEME = "adlint-rule";
const RESTARTING = ["adlint.path", "adlint.interpreter"];
const START_MILLISECONDS = 30_000;

/** The part of the Python extension that is used here. */
interface PythonEnvironments {
  getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
  resolveEnvironment(
    environment: { path: string },
  ): Promise<{ executable: { uri: vscode.Uri | undefined } } | undefined>;
  onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
}

/** The commands of the server are registered here, because somebody has to show their results. */
class Client extends LanguageClient {
  override registerFeature(feature: StaticFeature | DynamicFeature<any>): void {
    if (!("registrationType" in feature) || feature.registrationType.method !== ExecuteCommandRequest.method) {
      super.registerFeature(feature);
    }
  }
}

let extension: Extension | undefined;

export function activate(context: vscode.ExtensionContext): Promise<void> {
  extension = new Extension(context);
  return extension.restart();
}

export function deactivate(): Promise<void> | undefined {
  return extension?.stop();
}

class Extension {
  private readonly log = vscode.window.createOutputChannel("adlint", { log: true });
  private readonly rules = new Map<string, string>();
  private client: Client | undefined;
  private python: PythonEnvironments | undefined;
  private queue: Promise<void> = Promise.resolve();

  constructor(private readonly context: vscode.ExtensionContext) {
    context.subscriptions.push(
      this.log,
      vscode.commands.registerCommand("adlint.restart", () => this.restart()),
      vscode.commands.registerCommand("adlint.showLog", () => this.log.show()),
      vscode.commands.registerCommand("adlint.fixAll", () => this.fixAll()),
      vscode.commands.registerCommand("adlint.explainRule", (rule?: string) => this.explainRule(rule)),
      vscode.workspace.registerTextDocumentContentProvider(RULE_SCHEME, {
        provideTextDocumentContent: (uri) => this.rules.get(uri.path),
      }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.restart()),
      vscode.workspace.onDidChangeConfiguration((change) => {
        if (RESTARTING.some((setting) => change.affectsConfiguration(setting))) {
          void this.restart();
        }
      }),
    );
  }

  restart(): Promise<void> {
    return this.inTurn(async () => {
      await this.halt();
      await this.start();
    });
  }

  stop(): Promise<void> {
    return this.inTurn(() => this.halt());
  }

  /** Starts and stops never overlap, and one that fails does not hold up the next. */
  private inTurn(action: () => Promise<void>): Promise<void> {
    this.queue = this.queue.then(action).catch((error: unknown) => this.log.error(String(error)));
    return this.queue;
  }

  private async halt(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    await client?.dispose();
  }

  private async start(): Promise<void> {
    const { found, passed } = await this.search();
    passed.forEach((line) => this.log.info(`not used: ${line}`));
    if (found === undefined) {
      void this.reportMissing();
      return;
    }
    this.log.info(`server: ${[found.program, ...found.args].join(" ")}`);
    // Not the workspace's folder: `python -m` imports from the folder it is started in.
    const server: ServerOptions = {
      command: found.program,
      args: [...found.args],
      options: { cwd: this.context.extensionPath },
    };
    this.client = new Client("adlint", "adlint", server, {
      documentSelector: [
        { scheme: "file", language: "python" },
        { scheme: "untitled", language: "python" },
        { notebook: "jupyter-notebook", language: "python" },
      ],
      outputChannel: this.log,
      initializationOptions: { settings: vscode.workspace.getConfiguration("adlint"), showsExplanations: true },
      diagnosticPullOptions: { onChange: true, onSave: true },
    });
    await this.client.start();
  }

  private async search(): Promise<Search> {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const settings = vscode.workspace.getConfiguration("adlint", folder);
    return findServer(
      {
        path: settings.get<string[]>("path", []),
        interpreter: settings.get<string>("interpreter", ""),
        selected: vscode.workspace.isTrusted ? await this.selectedInterpreter(folder) : undefined,
        folder: folder?.fsPath,
      },
      this.computer(),
    );
  }

  private computer(): Computer {
    return {
      windows: process.platform === "win32",
      home: homedir(),
      searchPath: process.env.PATH ?? "",
      isProgram: (path) => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false,
      answers: (command) => this.answers(command),
    };
  }

  private answers(command: Command): Promise<boolean> {
    const options = { cwd: this.context.extensionPath, timeout: START_MILLISECONDS };
    return new Promise((done) => {
      execFile(command.program, [...command.args, "--help"], options, (error) => done(error === null));
    });
  }

  /** The interpreter that is selected in the Python extension, which need not be installed. */
  private async selectedInterpreter(folder: vscode.Uri | undefined): Promise<string | undefined> {
    try {
      this.python ??= await this.findPython();
      const environment = this.python?.getActiveEnvironmentPath(folder);
      const resolved = environment && (await this.python?.resolveEnvironment(environment));
      return resolved?.executable.uri?.fsPath;
    } catch (error) {
      this.log.warn(`the Python extension: ${String(error)}`);
      return undefined;
    }
  }

  private async findPython(): Promise<PythonEnvironments | undefined> {
    const found = vscode.extensions.getExtension<{ environments?: PythonEnvironments }>("ms-python.python");
    const environments = (await found?.activate())?.environments;
    if (environments !== undefined) {
      this.context.subscriptions.push(environments.onDidChangeActiveEnvironmentPath(() => this.restart()));
    }
    return environments;
  }

  private async reportMissing(): Promise<void> {
    const message =
      "adlint was not found. Install it in the selected Python environment, or set adlint.interpreter or adlint.path.";
    const answer = await vscode.window.showErrorMessage(message, "Open documentation", "Show log");
    if (answer === "Open documentation") {
      // Packaging writes the name in lower case.
      const readme = vscode.Uri.joinPath(this.context.extensionUri, "readme.md");
      await vscode.commands.executeCommand("markdown.showPreview", readme);
    } else if (answer === "Show log") {
      this.log.show();
    }
  }

  private async fixAll(): Promise<void> {
    const document = vscode.window.activeTextEditor?.document ?? this.firstCell();
    if (document === undefined) {
      return;
    }
    const kind = document.uri.scheme === CELL_SCHEME ? `notebook.${FIX_ALL}` : FIX_ALL;
    const whole = document.validateRange(new vscode.Range(0, 0, document.lineCount, 0));
    const command = "vscode.executeCodeActionProvider";
    const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(command, document.uri, whole, kind, 1);
    const edit = actions.find((action) => action.edit !== undefined)?.edit;
    if (edit === undefined) {
      vscode.window.setStatusBarMessage("adlint: nothing to fix", 3000);
    } else {
      await vscode.workspace.applyEdit(edit);
    }
  }

  private firstCell(): vscode.TextDocument | undefined {
    const cells = vscode.window.activeNotebookEditor?.notebook.getCells();
    return cells?.find((cell) => cell.document.languageId === "python")?.document;
  }

  private async explainRule(rule?: string): Promise<void> {
    const name = rule ?? (await this.askForRule());
    if (!name) {
      return;
    }
    if (this.client === undefined) {
      await this.reportMissing();
      return;
    }
    const request = { command: "adlint.explainRule", arguments: [name] };
    try {
      const text: unknown = await this.client.sendRequest(ExecuteCommandRequest.type, request);
      if (typeof text !== "string") {
        throw new Error(`there is no rule \`${name}\``);
      }
      const uri = vscode.Uri.from({ scheme: RULE_SCHEME, path: `${name}.md` });
      this.rules.set(uri.path, text);
      await vscode.commands.executeCommand("markdown.showPreview", uri);
    } catch (error) {
      void vscode.window.showErrorMessage(`adlint: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Ask for a rule; the one that is found at the cursor is there already. */
  private async askForRule(): Promise<string | undefined> {
    const editor = vscode.window.activeTextEditor;
    const found = editor && vscode.languages.getDiagnostics(editor.document.uri).find(
      (item) => item.source === "adlint" && item.range.intersection(editor.selection) !== undefined,
    );
    const code = typeof found?.code === "object" ? found.code.value : found?.code;
    const name = await vscode.window.showInputBox({
      title: "adlint: Explain rule",
      prompt: "Name or id of a rule, for instance missing-zero-grad or AD201",
      value: code === undefined ? "" : String(code),
    });
    return name?.trim();
  }
}
