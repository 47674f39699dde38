// npm run bench: installs missing packages, including those of bench/peers/, builds everything and runs the benchmarks.
import { ensureBuilt, ALL } from './lib/build-state.mjs';
import { ensureDependencies } from './lib/dependencies.mjs';
import { ROOT, runNode } from './lib/project.mjs';

process.chdir(ROOT);
const done =
  (await ensureDependencies({ dev: true })) &&
  (await ensureDependencies({ folder: 'bench/peers' })) &&
  (await ensureBuilt(ALL, { checkTypes: true })) &&
  (await runNode('dist/bench/main.js', process.argv.slice(2)));
process.exitCode = done ? 0 : 1;
