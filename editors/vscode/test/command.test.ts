import assert from "node:assert/strict";
import { delimiter, resolve } from "node:path";
import { test } from "node:test";
import { type Command, type Computer, findServer, type Wishes } from "../src/command.ts";

const HOME = resolve("/home/ada");
const FOLDER = resolve("/home/ada/project");

/** A computer with these files, on some of which adlint does not answer. */
function computer(files: string[], silent: string[] = [], windows = false): Computer & { asked: Command[] } {
  const asked: Command[] = [];
  const answers = (command: Command) => {
    asked.push(command);
    return Promise.resolve(!silent.map((file) => resolve(file)).includes(command.program));
  };
  const there = new Set(files.map((file) => resolve(file)));
  const searchPath = ["relative", resolve("/usr/bin"), resolve("/opt/bin")].join(delimiter);
  return { asked, windows, home: HOME, searchPath, isProgram: (path) => there.has(path), answers };
}

function wishes(some: Partial<Wishes> = {}): Wishes {
  return { path: [], interpreter: "", selected: undefined, folder: FOLDER, ...some };
}

async function program(some: Partial<Wishes>, machine: Computer): Promise<string | undefined> {
  return (await findServer(wishes(some), machine)).found?.program;
}

test("without any setting it is the adlint of PATH", async () => {
  const { found, passed } = await findServer(wishes(), computer(["/opt/bin/adlint"]));
  assert.deepEqual(found, { program: resolve("/opt/bin/adlint"), args: ["server"] });
  assert.deepEqual(passed, []);
});

test("the first place of PATH that has it is used", async () => {
  assert.equal(await program({}, computer(["/opt/bin/adlint", "/usr/bin/adlint"])), resolve("/usr/bin/adlint"));
});

test("the selected interpreter comes before PATH", async () => {
  const machine = computer(["/venv/bin/python", "/usr/bin/adlint"]);
  const { found } = await findServer(wishes({ selected: "/venv/bin/python" }), machine);
  assert.deepEqual(found, { program: resolve("/venv/bin/python"), args: ["-m", "adlint", "server"] });
});

test("the interpreter of the settings comes before the selected one", async () => {
  const machine = computer(["/a/python", "/b/python"]);
  assert.equal(await program({ interpreter: "/a/python", selected: "/b/python" }, machine), resolve("/a/python"));
});

test("paths come before interpreters, and the first that exists is used", async () => {
  const machine = computer(["/b/adlint", "/c/adlint", "/a/python"]);
  const path = ["/a/adlint", "/b/adlint", "/c/adlint"];
  assert.equal(await program({ path, interpreter: "/a/python" }, machine), resolve("/b/adlint"));
});

test("a bare name among the paths or as the interpreter is looked up in PATH", async () => {
  const machine = computer(["/opt/bin/adlint-next", "/usr/bin/python3"]);
  assert.equal(await program({ path: ["adlint-next"] }, machine), resolve("/opt/bin/adlint-next"));
  assert.equal(await program({ interpreter: "python3" }, machine), resolve("/usr/bin/python3"));
});

test("home and workspace folder are filled in, and a relative path starts at the folder", async () => {
  const machine = computer(["/home/ada/bin/adlint", "/home/ada/project/.venv/bin/python"]);
  assert.equal(await program({ path: ["~/bin/adlint"] }, machine), resolve("/home/ada/bin/adlint"));
  for (const interpreter of ["${workspaceFolder}/.venv/bin/python", ".venv/bin/python", "./.venv/bin/python"]) {
    assert.equal(await program({ interpreter }, machine), resolve("/home/ada/project/.venv/bin/python"));
  }
});

test("without a folder a relative path leads nowhere", async () => {
  const machine = computer([".venv/bin/python"]);
  for (const interpreter of [".venv/bin/python", "${workspaceFolder}/.venv/bin/python"]) {
    assert.equal(await program({ interpreter, folder: undefined }, machine), undefined);
  }
});

test("a relative place in PATH is not looked at", async () => {
  assert.equal(await program({}, computer(["relative/adlint"])), undefined);
});

test("an interpreter without adlint is passed over, with the reason", async () => {
  const machine = computer(["/venv/bin/python", "/usr/bin/adlint"], ["/venv/bin/python"]);
  const { found, passed } = await findServer(wishes({ selected: "/venv/bin/python" }), machine);
  assert.equal(found?.program, resolve("/usr/bin/adlint"));
  assert.equal(passed.length, 1);
  assert.match(passed[0] ?? "", /^selected interpreter: .*-m adlint server.* not installed/);
});

test("if there is none, each candidate is named", async () => {
  const { found, passed } = await findServer(wishes({ path: ["/a/adlint"], interpreter: "/a/python" }), computer([]));
  assert.equal(found, undefined);
  assert.deepEqual(passed, [
    "adlint.path: /a/adlint does not exist",
    "adlint.interpreter: /a/python does not exist",
    "PATH: adlint does not exist",
  ]);
});

test("nothing is asked after the first answer", async () => {
  const machine = computer(["/usr/bin/adlint", "/a/python"]);
  await findServer(wishes({ interpreter: "/a/python" }), machine);
  assert.equal(machine.asked.length, 1);
});

test("on Windows programs end in .exe, written or not", async () => {
  const machine = computer(["/opt/bin/adlint.exe", "/venv/Scripts/python.exe"], [], true);
  assert.equal(await program({}, machine), resolve("/opt/bin/adlint.exe"));
  for (const interpreter of ["/venv/Scripts/python", "/venv/Scripts/python.exe"]) {
    assert.equal(await program({ interpreter }, machine), resolve("/venv/Scripts/python.exe"));
  }
});
