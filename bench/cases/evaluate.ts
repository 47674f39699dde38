import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Bench } from '../bench';
import { compare, type Side } from '../measure';

const CASES = 1_000;
const CONCURRENCIES = [1, 16];
const MANY_CASES = 100_000;

const MIB = 1024 ** 2;

/** Evaluates with the client of this service, which stores every result and its trace, and with the runners of others. */
export async function evaluations(bench: Bench): Promise<void> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'bench-evaluate-'));
  const env = { ...process.env, ...connectionOf(bench) };
  const evaluate = (cases: number, concurrency: number, ...more: string[]): Promise<number> =>
    print(['dist/bench/evaluate.child.js', String(cases), String(concurrency), directory, ...more], env);
  try {
    for (const concurrency of CONCURRENCIES) {
      const args = [String(CASES), String(concurrency)];
      const quiet = {
        ...process.env,
        PROMPTFOO_CONFIG_DIR: directory,
        PROMPTFOO_DISABLE_TELEMETRY: '1',
        PROMPTFOO_DISABLE_UPDATE: '1',
      };
      const sides: Side[] = [
        { name: 'mastra', measure: () => print(['bench/peers/mastra.mjs', ...args], process.env) },
        { name: 'promptfoo', measure: () => print(['bench/peers/promptfoo.mjs', ...args], quiet) },
        { name: 'evaluate', measure: () => evaluate(CASES, concurrency) },
      ];
      const perCase = sides.map((side) => ({
        name: side.name,
        measure: async (round: number) => (await side.measure(round)) / CASES,
      }));
      const result = await compare(perCase);
      const title = `a case of evaluate that does nothing, concurrency ${concurrency}`;
      bench.report(title, 'ms', result, ['Mastra', 'promptfoo', 'service']);
    }
    const memory = await evaluate(MANY_CASES, 16, 'memory');
    bench.line(
      `evaluate with ${MANY_CASES} cases of a CSV file: ${Math.round(memory / MIB)} MiB resident at most`,
    );
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Runs a script of Node. Returns the number that is its last line. */
async function print(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, maxBuffer: 16 * MIB });
  return Number(stdout.trim().split('\n').at(-1));
}

/** Returns the variables that configure the client. */
function connectionOf({ http, scope }: Bench): Record<string, string> {
  const { port, headers } = http.target;
  return {
    SERVICE_URL: `http://127.0.0.1:${port}`,
    SERVICE_API_KEY: headers.Authorization!.replace('Bearer ', ''),
    SERVICE_WORKSPACE_ID: scope.workspaceId,
  };
}
