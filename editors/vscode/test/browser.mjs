// The packaged extension in a real editor: code-server, driven through a browser as a user would.
//
//     ADLINT_PYTHON=.../python node test/browser.mjs FOLDER_FOR_SCREENSHOTS
//
// Needs `npm run package` first, code-server (CODE_SERVER, by default the one on PATH) and a Chromium (CHROMIUM).
// Exit status 0 if everything was seen, 1 if something was not.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const PACKAGE = join(dirname(fileURLToPath(import.meta.url)), "..", "adlint.vsix");
const CODE_SERVER = process.env.CODE_SERVER ?? "code-server";
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const PYTHON = process.env.ADLINT_PYTHON;
const PATIENCE = 30_000;

const LOOP = `import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for _ in range(3):
    inputs, targets = torch.randn(8, 3), torch.randn(8, 1)
    loss = nn.functional.mse_loss(model(inputs), targets)
    loss.backward()
    optimizer.step()
`;
const MENDED = LOOP.replace("    loss.backward", "    optimizer.zero_grad()\n    loss.backward");
const FINDING = 10;
const [SETUP, TRAINING] = [LOOP.slice(0, LOOP.indexOf("for")).trimEnd(), LOOP.slice(LOOP.indexOf("for")).trimEnd()];

const SETTINGS = {
  "adlint.interpreter": PYTHON,
  "adlint.trace.server": "verbose",
  "editor.accessibilitySupport": "off",
  "extensions.ignoreRecommendations": true,
  "security.workspace.trust.enabled": false,
  "telemetry.telemetryLevel": "off",
  "workbench.secondarySideBar.defaultVisibility": "hidden",
  "workbench.startupEditor": "none",
};
const FIX_ON_SAVE = {
  "editor.codeActionsOnSave": { "source.fixAll.adlint": "explicit" },
  "notebook.codeActionsOnSave": { "notebook.source.fixAll.adlint": "explicit" },
};

function notebook() {
  const cell = (id, source) => ({ cell_type: "code", execution_count: null, id, metadata: {}, outputs: [], source });
  const metadata = { language_info: { name: "python" } };
  return { cells: [cell("setup", SETUP), cell("training", TRAINING)], metadata, nbformat: 4, nbformat_minor: 5 };
}

/** Make folders to open, and the editor's own, under a temporary one. */
function prepare(top) {
  const write = (path, content) => {
    mkdirSync(dirname(join(top, path)), { recursive: true });
    writeFileSync(join(top, path), typeof content === "string" ? content : JSON.stringify(content, null, 1));
  };
  write("fixing/train.py", LOOP);
  write("saving/.vscode/settings.json", FIX_ON_SAVE);
  write("saving/train.py", LOOP);
  write("saving/cells.ipynb", notebook());
  write("missing/.vscode/settings.json", { "adlint.interpreter": "./no/python" });
  write("missing/train.py", LOOP);
  write("user/User/settings.json", SETTINGS);
}

/** Start code-server; return its address and how to end it. */
async function start(top) {
  const own = ["--user-data-dir", join(top, "user"), "--extensions-dir", join(top, "extensions")];
  const quiet = ["--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"];
  const alone = ["--auth", "none", "--bind-addr", "127.0.0.1:0"];
  const places = process.env.PATH.split(delimiter).filter((place) => !existsSync(join(place, "adlint")));
  const env = { ...process.env, PATH: places.join(delimiter), XDG_CONFIG_HOME: top, XDG_DATA_HOME: top };
  execFileSync(CODE_SERVER, [...own, "--install-extension", PACKAGE], { env, stdio: "inherit" });
  const child = spawn(CODE_SERVER, [...own, ...quiet, ...alone], { env, detached: true });
  const address = await new Promise((found, failed) => {
    let said = "";
    const listen = (data) => {
      said += data;
      const match = /listening on (http:\S+)/.exec(said);
      if (match) {
        found(match[1]);
      }
    };
    child.stdout.on("data", listen);
    child.stderr.on("data", listen);
    child.on("error", failed);
    child.on("exit", () => failed(new Error(`code-server ended:\n${said}`)));
  });
  const end = async () => {
    const ended = new Promise((done) => child.on("exit", done));
    process.kill(-child.pid);
    await ended;
  };
  return { address, end };
}

/** What a user does in an editor. */
class Editor {
  constructor(page, screenshots) {
    this.page = page;
    this.screenshots = screenshots;
  }

  async openFolder(address, folder) {
    await this.page.goto(new URL(`?folder=${encodeURIComponent(folder)}`, address).href);
    await this.page.locator(".monaco-workbench .explorer-folders-view").waitFor();
  }

  async openFile(name) {
    await this.pick("Control+P", name, name);
    await this.page.locator(`.tab.active[data-resource-name="${name}"]`).waitFor();
  }

  async run(command) {
    await this.pick("F1", `>${command}`, command);
  }

  /** Open a list to choose from, type, and take the entry of that name once it is first. */
  async pick(key, text, entry) {
    const box = this.page.locator(".quick-input-widget input[type=text]").first();
    await this.page.keyboard.press(key);
    await box.fill(text);
    await this.page.locator(".quick-input-list .monaco-list-row.focused", { hasText: entry }).waitFor();
    await this.page.keyboard.press("Enter");
  }

  async press(key) {
    await this.page.keyboard.press(key);
  }

  async type(text) {
    await this.page.keyboard.type(text);
  }

  async goToLine(line) {
    await this.press("Control+G");
    await this.page.locator(".quick-input-widget input[type=text]").first().fill(`:${line}`);
    await this.press("Enter");
  }

  squiggles() {
    return this.page.locator(".squiggly-error");
  }

  problem(text) {
    return this.page.locator(".markers-panel .monaco-list-row", { hasText: text });
  }

  async look(name) {
    await this.page.screenshot({ path: join(this.screenshots, `${name}.png`) });
  }
}

async function until(what, holds) {
  for (const end = Date.now() + PATIENCE; Date.now() < end; ) {
    if (await holds()) {
      return;
    }
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.fail(`not seen: ${what}`);
}

const content = (path) => readFileSync(path, "utf8");

async function fixesThroughTheLightBulb(editor, top, address) {
  await editor.openFolder(address, join(top, "fixing"));
  await editor.openFile("train.py");
  await editor.squiggles().first().waitFor();
  await editor.press("Control+Shift+M");
  await editor.problem("AD201").waitFor();
  await editor.look("1-finding");
  await editor.openFile("train.py");
  await editor.goToLine(FINDING);
  await editor.press("Control+.");
  const actions = editor.page.locator(".action-widget .monaco-list-row.action");
  await actions.filter({ hasText: "zero_grad()` first" }).waitFor();
  await editor.look("2-actions");
  const titles = await actions.allInnerTexts();
  for (const part of ["zero_grad()` first", "silence missing-zero-grad", "explain missing-zero-grad"]) {
    assert.ok(titles.some((title) => title.includes(part)), `${part} is offered: ${titles.join("; ")}`);
  }
  await actions.filter({ hasText: "zero_grad()` first" }).click();
  await until("the fix in the editor", async () => (await editor.squiggles().count()) === 0);
  await editor.press("Control+S");
  await until("the fix on disk", () => content(join(top, "fixing/train.py")) === MENDED);
  await editor.problem("AD201").waitFor({ state: "detached" });
  await editor.look("3-fixed");
}

async function explains(editor) {
  await editor.run("adlint: Explain rule");
  const box = editor.page.locator(".quick-input-widget input[type=text]").first();
  await editor.page.locator(".quick-input-widget", { hasText: "Name or id of a rule" }).waitFor();
  await box.fill("AD201");
  await editor.press("Enter");
  const seen = async () => {
    const texts = await Promise.all(editor.page.frames().map((frame) => frame.innerText("body").catch(() => "")));
    return texts.some((text) => text.includes("missing-zero-grad") && text.includes("adds to the gradient slots"));
  };
  await until("the explanation", seen);
  await editor.look("4-explanation");
}

async function fixesAllByCommand(editor, top) {
  await editor.openFile("train.py");
  await editor.press("Control+A");
  await editor.press("Delete");
  await editor.press("Control+S");
  await until("the empty file", () => content(join(top, "fixing/train.py")) === "");
  writeFileSync(join(top, "fixing/train.py"), LOOP);
  await editor.squiggles().first().waitFor();
  await editor.run("adlint: Fix all in this file");
  await until("the fixes in the editor", async () => (await editor.squiggles().count()) === 0);
  await editor.press("Control+S");
  await until("the fixes on disk", () => content(join(top, "fixing/train.py")) === MENDED);
}

async function fixesOnSave(editor, top, address) {
  await editor.openFolder(address, join(top, "saving"));
  await editor.openFile("train.py");
  await editor.squiggles().first().waitFor();
  await editor.press("Control+End");
  await editor.type("# done\n");
  await editor.press("Control+S");
  await until("the file that is fixed on saving", () => content(join(top, "saving/train.py")) === `${MENDED}# done\n`);
  await until("no finding", async () => (await editor.squiggles().count()) === 0);
  await editor.look("5-fixed-on-save");
}

async function fixesNotebookOnSave(editor, top) {
  await editor.openFile("cells.ipynb");
  await editor.squiggles().first().waitFor();
  await editor.look("6-notebook");
  await editor.page.locator(".cell .view-lines", { hasText: "backward" }).click();
  await editor.press("Control+End");
  await editor.type("  # done");
  await editor.press("Control+S");
  const training = () => [JSON.parse(content(join(top, "saving/cells.ipynb"))).cells[1].source].flat().join("");
  const mended = `${MENDED.slice(MENDED.indexOf("for")).trimEnd()}  # done`;
  await until("the notebook that is fixed on saving", () => training() === mended);
  await until("no finding", async () => (await editor.squiggles().count()) === 0);
  await editor.look("7-notebook-fixed-on-save");
}

async function saysThatAdlintIsMissing(editor, top, address) {
  await editor.openFolder(address, join(top, "missing"));
  await editor.openFile("train.py");
  const message = editor.page.locator(".notifications-toasts", { hasText: "adlint was not found" });
  await message.waitFor();
  await editor.look("8-missing");
  await message.getByText("Open documentation").click();
  const seen = async () => {
    const texts = await Promise.all(editor.page.frames().map((frame) => frame.innerText("body").catch(() => "")));
    return texts.some((text) => text.includes("adlint for Visual Studio Code"));
  };
  await until("the documentation", seen);
  writeFileSync(join(top, "missing/.vscode/settings.json"), "{}");
  await editor.openFile("train.py");
  await editor.squiggles().first().waitFor();
  await editor.look("9-found-after-a-change-of-settings");
}

async function main() {
  const [folder] = process.argv.slice(2);
  assert.ok(folder && PYTHON, "usage: ADLINT_PYTHON=.../python node test/browser.mjs FOLDER_FOR_SCREENSHOTS");
  const screenshots = resolve(folder);
  mkdirSync(screenshots, { recursive: true });
  const top = mkdtempSync(join(tmpdir(), "adlint-browser-"));
  prepare(top);
  const server = await start(top);
  const quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"];
  const args = ["--no-sandbox", "--disable-gpu", "--no-first-run", ...quiet];
  const browser = await chromium.launch({ executablePath: CHROMIUM, args });
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  page.setDefaultTimeout(PATIENCE);
  const editor = new Editor(page, screenshots);
  try {
    for (const step of [
      fixesThroughTheLightBulb,
      explains,
      fixesAllByCommand,
      fixesOnSave,
      fixesNotebookOnSave,
      saysThatAdlintIsMissing,
    ]) {
      const before = Date.now();
      await step(editor, top, server.address);
      console.log(`${step.name}: ${((Date.now() - before) / 1000).toFixed(1)} s`);
    }
  } catch (error) {
    await editor.look("failed");
    throw error;
  } finally {
    await browser.close();
    await server.end();
    rmSync(top, { recursive: true, force: true });
  }
}

await main();
