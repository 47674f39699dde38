// Runs a process of the service within this one, so that it receives the signals itself. Started by bin/agent-registry-service.
//
// Old versions of Node must be able to load this file, so it imports nothing newer before it has checked the version.
import { existsSync, readFileSync } from 'fs';
import nodeModule from 'module';
import { fileURLToPath } from 'url';

const PROCESSES = {
  api: 'main',
  worker: 'worker',
  migrate: 'migrate',
  bootstrap: 'bootstrap',
  'rotate-secrets': 'rotate-secrets',
  'verify-storage': 'verify-storage',
};
const ARGUMENTS = {
  bootstrap: ['--new-key'],
  migrate: ['--plan'],
  'verify-storage': ['--hash', '--delete-orphans', '--mark', '--force'],
};
const USAGE = `Usage: agent-registry-service [command] [options]

Without a command, runs API and worker in one process, with an embedded PostgreSQL unless DATABASE_URL is set.
Keeps its data in DATA_DIR (.data), and serves on PORT (8080).

Commands. All but verify-storage need DATABASE_URL, and all but migrate and verify-storage also need SECRETS_KEYS:
  api             serves the API on PORT
  worker          runs the jobs of the API
  migrate         migrates the database to the schema of this release
                  --plan            prints the steps instead
  bootstrap       creates the first organization, and prints its ids and its API key
                  --new-key         prints a new key of an organization that exists
  rotate-secrets  re-encrypts the stored secrets with the first key of SECRETS_KEYS
  verify-storage  compares the database with the stored files, and prints what is missing as lines of JSON.
                  Exits with 1 if bytes are missing. Without DATABASE_URL, uses the database in DATA_DIR.
                  --hash            also reads every file, and compares its SHA-256
                  --delete-orphans  lets a worker delete the files that nothing refers to
                  --mark            accepts a storage that you moved, if nothing is missing (--force: even then)
`;

const root = new URL('..', import.meta.url);

/** Returns what is wrong with the version of Node, according to `engines` in package.json: `^20.19 || ^24`, for example. */
function unsupportedReason(version) {
  const { engines } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
  const [major, minor] = version.split('.').map(Number);
  const lines = engines.node.split(' || ').map((range) => range.slice(1).split('.').map(Number));
  if (lines.some(([line, least = 0]) => major === line && minor >= least)) return null;
  const names = lines.map(([line, least]) => (least ? `${line} (${line}.${least} or newer)` : line));
  const last = names.pop();
  return `Node ${version} is not supported; install Node ${names.join(', ')} or ${last} from https://nodejs.org.`;
}

function fail(message, code = 1) {
  process.stderr.write(`${message}\n`);
  process.exit(code);
}

/** In a checkout, installs and builds whatever is not up to date. */
async function prepare() {
  const { ensureDependencies } = await import('./lib/dependencies.mjs');
  const { ensureBuilt, SHIPPED } = await import('./lib/build-state.mjs');
  const { ROOT } = await import('./lib/project.mjs');
  process.chdir(ROOT); // relative paths in the environment (DATA_DIR) are relative to the checkout
  if (!(await ensureDependencies())) fail('npm start: installing dependencies failed');
  if (!(await ensureBuilt(SHIPPED, { checkTypes: false }))) fail('npm start: building failed');
}

/** Stops the process when its shell ends. npx runs it in a shell, which ends on SIGTERM without passing the signal on. */
function stopWithShell() {
  const shell = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === shell) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, 500).unref();
}

async function start(command) {
  const isCheckout = existsSync(new URL('src', root));
  if (isCheckout && command === undefined) await prepare();
  // saves a later start about a fifth of its time, where Node has it (22 and newer) and this user may write there
  if (nodeModule.enableCompileCache)
    nodeModule.enableCompileCache(fileURLToPath(new URL('node_modules/.cache/compile', root)));
  if (process.env.npm_lifecycle_event === 'npx') stopWithShell();
  await import(`../dist/src/${command === undefined ? 'standalone' : PROCESSES[command]}.js`);
}

const reason = unsupportedReason(process.versions.node);
if (reason !== null) fail(reason);
const [command] = process.argv.splice(2, 1);
const known = (Object.keys(ARGUMENTS).includes(command) && ARGUMENTS[command]) || [];
const unknown = process.argv.slice(2).find((argument) => !known.includes(argument));
if (command === '--help' || command === '-h') {
  process.stdout.write(USAGE);
} else if (command !== undefined && !Object.keys(PROCESSES).includes(command)) {
  fail(`Unknown command ${command}; run agent-registry-service --help for the commands.`);
} else if (unknown !== undefined) {
  // verify-storage exits with 1 if bytes are missing
  const code = command === 'verify-storage' ? 2 : 1;
  fail(`Unknown argument ${unknown}; run agent-registry-service --help for the commands.`, code);
} else {
  await start(command);
}
