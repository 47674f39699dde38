// npm run example: compiles the example unless it is up to date, then runs it with the given arguments.
import { ensureBuilt, EXAMPLES } from './lib/build-state.mjs';

if (!(await ensureBuilt(EXAMPLES, { checkTypes: false }))) process.exit(1);
await import('../dist/examples/compare-models/main.js');
