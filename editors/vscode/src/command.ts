// Which program serves: the first of some candidates that is there and answers. Knows nothing of VS Code.

import { delimiter, isAbsolute, join, resolve } from "node:path";

/** What the settings and the Python extension say. */
export interface Wishes {
  path: readonly string[];
  interpreter: string;
  /** The interpreter that is selected in the Python extension, if it is there and the folder is trusted. */
  selected: string | undefined;
  folder: string | undefined;
}

/** What is asked of the computer. */
export interface Computer {
  windows: boolean;
  home: string;
  searchPath: string;
  isProgram(path: string): boolean;
  /** Whether the command ends well when asked for help. */
  answers(command: Command): Promise<boolean>;
}

export interface Command {
  program: string;
  args: readonly string[];
}

export interface Search {
  found: Command | undefined;
  /** One line for each candidate that was passed over, with the reason. */
  passed: readonly string[];
}

export async function findServer(wishes: Wishes, computer: Computer): Promise<Search> {
  const passed: string[] = [];
  for (const [source, name, args] of candidates(wishes)) {
    const program = locate(name, wishes.folder, computer);
    if (program === undefined) {
      passed.push(`${source}: ${name} does not exist`);
      continue;
    }
    const command = { program, args };
    if (await computer.answers(command)) {
      return { found: command, passed };
    }
    const line = [program, ...args].join(" ");
    passed.push(`${source}: \`${line}\` does not run; adlint is not installed there, or too old`);
  }
  return { found: undefined, passed };
}

function* candidates(wishes: Wishes): Generator<[source: string, name: string, args: string[]]> {
  for (const name of wishes.path) {
    yield ["adlint.path", name, ["server"]];
  }
  const module = ["-m", "adlint", "server"];
  if (wishes.interpreter !== "") {
    yield ["adlint.interpreter", wishes.interpreter, module];
  }
  if (wishes.selected !== undefined) {
    yield ["selected interpreter", wishes.selected, module];
  }
  yield ["PATH", "adlint", ["server"]];
}

/** The file that a setting means: a bare name is looked up in PATH, anything else is a path from the folder. */
function locate(name: string, folder: string | undefined, computer: Computer): string | undefined {
  const expanded = name
    .replace(/^~(?=[/\\]|$)/, () => computer.home)
    .replaceAll("${workspaceFolder}", () => folder ?? "${workspaceFolder}");
  if (/[/\\]/.test(expanded)) {
    if (folder === undefined && !isAbsolute(expanded)) {
      return undefined;
    }
    return spellings(resolve(folder ?? "", expanded), computer).find(computer.isProgram);
  }
  const places = computer.searchPath.split(delimiter).filter((place) => isAbsolute(place));
  return places.flatMap((place) => spellings(join(place, expanded), computer)).find(computer.isProgram);
}

function spellings(path: string, computer: Computer): string[] {
  return computer.windows && !/\.exe$/i.test(path) ? [`${path}.exe`] : [path];
}
