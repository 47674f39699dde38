// npm test: installs missing packages, lints, builds everything and runs the tests. Passes arguments to jest
// (npm test -- records); with arguments, it does not lint. npm run test:heavy runs the heavy tests instead.
import { statfsSync } from 'node:fs';
import { ensureBuilt, ensureClient, ALL } from './lib/build-state.mjs';
import { ensureDependencies } from './lib/dependencies.mjs';
import { ROOT, run, say } from './lib/project.mjs';

/** Flags of Node, which jest passes on to its workers. A larger young generation is collected less often. */
const WORKER_FLAGS = ['--max-semi-space-size=64'];

/**
 * A directory that Linux keeps in memory, and the space that the tests need in it. A test database is created there in 40 ms;
 * on a disk, its hundreds of files can take 700 ms.
 */
const MEMORY = { directory: '/dev/shm', bytes: 8 * 1024 ** 3 };

process.chdir(ROOT);
// The compiled tests run, so the name of a source file means its output.
const argv = process.argv.slice(2).map((arg) => arg.replace(/\.ts$/, '.js'));
const isHeavy = argv[0] === '--heavy';
const args = isHeavy ? argv.slice(1) : argv;
if (isHeavy) process.env.TEST_HEAVY = '1';
if (hasMemory()) process.env.TMPDIR = MEMORY.directory;
const lint = () => isHeavy || args.length > 0 || run('npm', ['run', '--silent', 'lint']);
const stages = [
  ['installing dependencies', () => ensureDependencies({ dev: true })],
  ['building the client', ensureClient], // lint and build read its declarations
  // in parallel, because neither needs the result of the other
  [
    'lint or build',
    async () => (await Promise.all([lint(), ensureBuilt(ALL, { checkTypes: true })])).every(Boolean),
  ],
  ['tests', () => run(process.execPath, [...WORKER_FLAGS, 'node_modules/jest/bin/jest.js', ...args])],
];
const times = [];
for (const [stage, work] of stages) {
  const start = performance.now();
  if (!(await work())) {
    say(`npm test: ${stage} failed`);
    process.exit(1);
  }
  times.push(`${stage} ${((performance.now() - start) / 1000).toFixed(0)} s`);
}
say(`npm test: ${times.join(', ')}`);

function hasMemory() {
  try {
    const { bavail, bsize } = statfsSync(MEMORY.directory);
    return bavail * bsize >= MEMORY.bytes;
  } catch {
    return false;
  }
}
