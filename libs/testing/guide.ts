import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { Bootstrap, StandaloneService } from './standalone-service';

/** Printed by the shell after each block. No block prints it. */
const END = '\0';

/** A code block of a page. */
interface Block {
  language: string;
  /** The name of the file that the block contains, if it is a file. */
  name: string | undefined;
  text: string;
  /** Whether the block is a sample of the output of the block directly before it. */
  isSample: boolean;
}

export interface GuideOptions {
  /** More texts of the page to replace, such as addresses. */
  replacements?: Record<string, string>;
  /** The workspace of the reader. */
  workspaceId: string;
}

function blocksOf(page: string): Block[] {
  const pieces = readFileSync(page, 'utf8').split(/^```(\w+)(?: (\S+))?\n(.*?)^```$/gms);
  const blocks: Block[] = [];
  // Prose, language, name and text alternate.
  for (let at = 0; at + 3 < pieces.length; at += 4) {
    const [prose, language, name, text] = pieces.slice(at, at + 4) as [
      string,
      string,
      string | undefined,
      string,
    ];
    const before = blocks.at(-1);
    const isSample =
      name === undefined &&
      ['json', 'text'].includes(language) &&
      prose.trim() === '' &&
      !!before &&
      isRun(before);
    blocks.push({ language, name, text, isSample });
  }
  return blocks;
}

const tools = ['bash', 'curl', 'jq'];

/** Describes the tests of a guide. They are skipped, with a message, if a tool that readers need is missing. */
export function describeGuide(page: string, tests: () => void): void {
  const missing = tools.filter((tool) => spawnSync(tool, ['--version']).status !== 0);
  if (missing.length > 0)
    process.stderr.write(`${missing.join(', ')} not found: the tests of ${page} are SKIPPED.\n`);
  (missing.length === 0 ? describe : describe.skip)(page, tests);
}

/**
 * A page of `docs/` whose code blocks run as a reader would run them, against a real service:
 *
 * - A block with a file name (` ```js feedback.mjs `) is written to that file.
 * - `sh` blocks without a name run in one shell, in order, so that later blocks see the variables and functions of earlier
 *   ones. The shell stops at the first command that fails.
 * - A `json` or `text` block directly after such a block is a sample of its output, and is compared: see `matchesSample`.
 * - Other blocks do not run.
 *
 * The working directory looks like a checkout of a running service, with `.data/bootstrap.json`. The address `localhost:8080`
 * is replaced by the address of the service.
 */
export class Guide {
  private readonly blocks: Block[];
  private readonly shell: ChildProcessWithoutNullStreams;

  private constructor(
    page: string,
    private readonly directory: string,
    { base_url }: Bootstrap,
    replacements: Record<string, string>,
  ) {
    const all = Object.entries({ 'localhost:8080': new URL(base_url).host, ...replacements });
    this.blocks = blocksOf(page).map((block) => ({
      ...block,
      text: all.reduce((text, [from, to]) => text.replaceAll(from, to), block.text),
    }));
    const {
      SERVICE_URL: _url,
      SERVICE_API_KEY: _key,
      SERVICE_WORKSPACE_ID: _workspace,
      ...env
    } = process.env;
    env['npm_config_audit'] = 'false'; // a request to the registry
    // A separate process group, so that nothing that a page starts outlives it.
    this.shell = spawn('bash', ['-euo', 'pipefail'], { cwd: directory, env, detached: true });
    this.shell.stdout.setEncoding('utf8');
    this.shell.stderr.setEncoding('utf8');
  }

  /** Opens a page, and writes its files. */
  static open(page: string, service: StandaloneService, options: GuideOptions): Guide {
    const directory = mkdtempSync(path.join(os.tmpdir(), 'guide-'));
    for (const name of readdirSync('.').filter((one) => one !== '.data' && one !== '.git'))
      symlinkSync(path.resolve(name), path.join(directory, name));
    mkdirSync(path.join(directory, '.data'));
    const bootstrap = { ...service.bootstrap, workspace_id: options.workspaceId };
    writeFileSync(path.join(directory, '.data/bootstrap.json'), JSON.stringify(bootstrap), { mode: 0o600 });
    const guide = new Guide(page, directory, bootstrap, options.replacements ?? {});
    for (const { name, text } of guide.blocks) if (name !== undefined) guide.write(name, text);
    return guide;
  }

  /** Returns the absolute path of a file. */
  private pathOf(name: string): string {
    return path.join(this.directory, name);
  }

  private write(name: string, text: string): void {
    mkdirSync(path.dirname(this.pathOf(name)), { recursive: true });
    writeFileSync(this.pathOf(name), text);
  }

  /** Runs the shell blocks, in order. Throws if a command fails, or if a block prints anything other than its sample. */
  async runBlocks(): Promise<void> {
    for (const [index, block] of this.blocks.entries()) {
      if (!isRun(block)) continue;
      const printed = await this.runInShell(block.text, index);
      const sample = this.blocks[index + 1];
      if (sample?.isSample && !matchesSample(sample, printed))
        throw new Error(`This block:\n${block.text}\nprints:\n${printed}\ninstead of:\n${sample.text}`);
    }
  }

  /** Runs the commands of a block in the shell of the page. @returns their output */
  private runInShell(commands: string, index: number): Promise<string> {
    const file = this.pathOf(`.block-${index}.sh`);
    writeFileSync(file, commands);
    return new Promise((resolve, reject) => {
      const { stdin, stdout, stderr } = this.shell;
      let printed = '';
      let errors = '';
      const onOutput = (chunk: string): void => {
        printed += chunk;
        if (!printed.endsWith(END)) return;
        stop();
        resolve(printed.slice(0, -END.length));
      };
      const onError = (chunk: string): void => void (errors += chunk);
      const onClose = (): void => {
        stop();
        reject(new Error(`This block fails:\n${commands}\n${printed}\n${errors}`));
      };
      const stop = (): void => {
        stdout.off('data', onOutput);
        stderr.off('data', onError);
        this.shell.off('close', onClose);
      };
      stdout.on('data', onOutput);
      stderr.on('data', onError);
      this.shell.on('close', onClose);
      stdin.write(`. ${file} < /dev/null; printf '\\0'\n`);
    });
  }

  close(): void {
    try {
      process.kill(-this.shell.pid!, 'SIGKILL');
    } catch {
      // the shell has ended, and so has everything that it started
    }
    rmSync(this.directory, { recursive: true });
  }
}

const isRun = ({ language, name }: Omit<Block, 'isSample'>): boolean =>
  language === 'sh' && name === undefined;

/**
 * Returns whether an output matches a sample. In a sample, `…` stands for any text, alone on a line for any lines, as a JSON
 * string for any value, and at the end of a JSON array for more elements. Members that a JSON sample does not show are
 * ignored.
 */
export function matchesSample(
  { language, text }: Pick<Block, 'language' | 'text'>,
  printed: string,
): boolean {
  if (language === 'text') return matchesText(text, printed);
  const [samples, values] = [text, printed].map(jsonValuesOf);
  return matchesJson(samples, values);
}

/** The values of a JSON text, or of JSON Lines. */
function jsonValuesOf(text: string): unknown[] {
  try {
    return [JSON.parse(text)];
  } catch {
    return text
      .trim()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
  }
}

function matchesText(sample: string, text: string): boolean {
  const pattern = sample
    .trim()
    .split('\n')
    .map((line) =>
      line.trim() === '…' ? '(?:.*\n)*' : `${line.trim().split('…').map(escaped).join('.*')} *\n`,
    )
    .join('[ \t]*');
  return new RegExp(`^\\s*${pattern}\\s*$`).test(`${text.trim()}\n`);
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

function matchesJson(sample: unknown, value: unknown): boolean {
  if (sample === '…') return true;
  if (typeof sample === 'string') return typeof value === 'string' && matchesText(sample, value);
  if (Array.isArray(sample)) {
    if (!Array.isArray(value)) return false;
    const prefix = sample.at(-1) === '…' ? sample.slice(0, -1) : sample;
    const isWhole = prefix.length === sample.length;
    return (
      (isWhole ? value.length === prefix.length : value.length >= prefix.length) &&
      prefix.every((one, index) => matchesJson(one, value[index]))
    );
  }
  if (typeof sample === 'object' && sample !== null) {
    return (
      typeof value === 'object' &&
      value !== null &&
      Object.entries(sample).every(
        ([name, one]) => name in value && matchesJson(one, value[name as keyof typeof value]),
      )
    );
  }
  return sample === value;
}
