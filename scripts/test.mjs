// npm test: installs what is missing, lints, builds everything and runs the tests. Arguments go to jest
// (npm test -- records); with any, only the build and those tests run.
import { ensureBuilt, ALL } from './lib/build-state.mjs';
import { ensureDependencies } from './lib/dependencies.mjs';
import { ROOT, run, runNode, say } from './lib/project.mjs';

process.chdir(ROOT);
// The tests that run are the compiled ones: the name of a source file means its output.
const args = process.argv.slice(2).map((arg) => arg.replace(/\.ts$/, '.js'));
const stages = [
  ['installing dependencies', () => ensureDependencies()],
  ['lint', () => args.length > 0 || run('npm', ['run', '--silent', 'lint'])],
  ['build', () => ensureBuilt(ALL)],
  ['tests', () => runNode('node_modules/jest/bin/jest.js', args)],
];
for (const [stage, work] of stages) {
  if (!(await work())) {
    say(`npm test: ${stage} failed`);
    process.exit(1);
  }
}
