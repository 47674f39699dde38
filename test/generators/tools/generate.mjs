// Runs linters and generators of clients over generated/openapi.json, compiles what they make, and calls the service with
// each client. Writes what the clients report as JSON. SERVICE_URL, SERVICE_API_KEY and SERVICE_WORKSPACE_ID name the service.
import { spawn } from 'node:child_process';
import { cpSync } from 'node:fs';
import path from 'node:path';

const FOLDER = import.meta.dirname;
const DOCUMENT = './generated/openapi.json';
const CLIENTS = ['hey-api', 'openapi-typescript', 'orval'];

const tools = {
  redocly: ['redocly', 'lint', DOCUMENT, '--config', 'redocly.yaml'],
  spectral: ['spectral', 'lint', DOCUMENT, '--ruleset', 'spectral.yaml', '--fail-severity', 'warn'],
  'hey-api': ['openapi-ts', '--input', DOCUMENT, '--output', 'generated/hey-api', '--silent'],
  'openapi-typescript': [
    'openapi-typescript',
    DOCUMENT,
    '--output',
    'generated/openapi-typescript/schema.ts',
  ],
  orval: ['orval', '--config', 'orval.config.cjs'],
};

/** Runs a command of an installed package. Returns what it writes; throws with its output if it fails. */
async function run(name, [command, ...args], env = {}) {
  const child = spawn(command, args, {
    cwd: FOLDER,
    env: { ...process.env, ...env, PATH: `${path.join(FOLDER, 'node_modules/.bin')}:${process.env.PATH}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [output, log] = ['', ''];
  child.stdout.on('data', (data) => (output += data));
  child.stderr.on('data', (data) => (log += data));
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  if (code !== 0) throw new Error(`${name} failed with code ${code}:\n${(output + log).slice(-5_000)}`);
  return output;
}

cpSync(path.join(FOLDER, 'calls'), path.join(FOLDER, 'generated'), { recursive: true });
const linting = Promise.all(['redocly', 'spectral'].map((name) => run(name, tools[name])));
await Promise.all(CLIENTS.map((name) => run(name, tools[name])));
const compiling = run('tsc', ['tsc', '--project', '.']);
const bundles = CLIENTS.map((name) => `generated/${name}.ts`);
await run('esbuild', [
  'esbuild',
  ...bundles,
  ...[
    '--bundle',
    '--format=esm',
    '--platform=node',
    '--outdir=generated/bundles',
    '--out-extension:.js=.mjs',
  ],
  ...['--log-level=error', '--target=node20'],
]);
const reports = {};
for (const name of CLIENTS) {
  reports[name] = JSON.parse(await run(name, [process.execPath, `generated/bundles/${name}.mjs`]));
}
await Promise.all([linting, compiling]);
console.log(JSON.stringify(reports));
