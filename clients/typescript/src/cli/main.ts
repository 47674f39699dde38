#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { EXIT, type ExitStatus } from './exit.js';
import { isReporter, REPORTERS, type RunOptions, runFiles } from './run.js';

const HELP = `Usage: agent-registry eval run <file> [<file> ...] [options]

Runs files that call evaluate(), such as qa.eval.ts, and prints a table of the scores.

Options:
  --concurrency <n>   cases that run at a time, instead of the number in the file
  --run-key <key>     identifies the run: the same key continues it. Default: the commit that the CI names
  --fresh             start a new run, which replaces the earlier one of the same key
  --reporter <name>   print ${REPORTERS.join(', ')} instead of the table
  --json              the same as --reporter json
  --output <file>     write the report to a file, and the table to standard output
  --help, --version

Environment:
  SERVICE_URL, SERVICE_API_KEY, SERVICE_WORKSPACE_ID   the service
  GITHUB_STEP_SUMMARY                                  a file to which a Markdown report is added

Exit status:
  0 passed   1 unexpected error   2 wrong usage   3 the gate failed
  4 authentication   5 the service is unreachable   6 incomplete: run it again to continue
`;

/** A command line that cannot be run. The message is for the user. */
class UsageError extends Error {}

/** Runs the command line. @returns the exit status */
async function main(args: string[]): Promise<ExitStatus> {
  try {
    const { values, positionals } = parse(args);
    if (values.help) return print(HELP);
    if (values.version) return print(`${version()}\n`);
    const [area, command, ...files] = positionals;
    if (area !== 'eval' || command !== 'run')
      throw new UsageError(
        area === undefined ? 'No command is given.' : `There is no command "${positionals.join(' ')}".`,
      );
    if (files.length === 0)
      throw new UsageError('No file is given. Name a file that calls evaluate(), such as qa.eval.ts.');
    return await runFiles(files, toRunOptions(values));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message} Run agent-registry --help for the usage.\n`);
    return EXIT.usage;
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        concurrency: { type: 'string' },
        'run-key': { type: 'string' },
        fresh: { type: 'boolean' },
        reporter: { type: 'string' },
        json: { type: 'boolean' },
        output: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean', short: 'v' },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message.replace(/\.?$/, '.'));
  }
}

function toRunOptions(values: ReturnType<typeof parse>['values']): RunOptions {
  const { concurrency, output, 'run-key': runKey, fresh } = values;
  if (concurrency !== undefined && !/^[1-9]\d{0,5}$/.test(concurrency))
    throw new UsageError('--concurrency must be a positive integer.');
  if (runKey === '') throw new UsageError('--run-key must not be empty.');
  if (values.json && values.reporter !== undefined && values.reporter !== 'json')
    throw new UsageError('--json and --reporter exclude each other.');
  const reporter = values.json ? 'json' : values.reporter;
  if (reporter !== undefined && !isReporter(reporter))
    throw new UsageError(`--reporter must be one of ${REPORTERS.join(', ')}.`);
  if (output !== undefined && reporter === undefined)
    throw new UsageError('--output needs --reporter or --json, which say what to write.');
  return {
    overrides: {
      ...(concurrency !== undefined && { concurrency: Number(concurrency) }),
      ...(runKey !== undefined && { runKey }),
      ...(fresh && { resume: false }),
    },
    reporter,
    output,
  };
}

function print(text: string): ExitStatus {
  process.stdout.write(text);
  return EXIT.passed;
}

function version(): string {
  const file = new URL('../../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

/** Time that the process has to end by itself, in milliseconds, so that exporters of traces can flush. */
const GRACE_MS = 2_000;

process.exitCode = await main(process.argv.slice(2));
// A connection that the file has left open does not keep the process alive.
setTimeout(() => process.exit(), GRACE_MS).unref();
