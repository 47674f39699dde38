// npm test: installs what is missing, lints, builds everything and runs the tests. Arguments go to jest
// (npm test -- records); with any, only the build and those tests run. npm run test:heavy runs the heavy ones instead.
import { ensureBuilt, ALL } from './lib/build-state.mjs';
import { ensureDependencies } from './lib/dependencies.mjs';
import { ROOT, run, runNode, say } from './lib/project.mjs';

process.chdir(ROOT);
// The tests that run are the compiled ones: the name of a source file means its output.
const given = process.argv.slice(2).map((arg) => arg.replace(/\.ts$/, '.js'));
const isHeavy = given[0] === '--heavy';
const args = isHeavy ? given.slice(1) : given;
if (isHeavy) process.env.TEST_HEAVY = '1';
const lint = () => isHeavy || args.length > 0 || run('npm', ['run', '--silent', 'lint']);
const stages = [
  ['installing dependencies', () => ensureDependencies()],
  // Side by side, because each of them takes one processor for most of a minute.
  ['lint or build', async () => (await Promise.all([lint(), ensureBuilt(ALL)])).every(Boolean)],
  ['tests', () => runNode('node_modules/jest/bin/jest.js', args)],
];
for (const [stage, work] of stages) {
  if (!(await work())) {
    say(`npm test: ${stage} failed`);
    process.exit(1);
  }
}
