// npm pack: builds what ships and checks its types, unless that is up to date.
import { ensureBuilt, SHIPPED } from './lib/build-state.mjs';
import { ensureDependencies } from './lib/dependencies.mjs';
import { ROOT } from './lib/project.mjs';

process.chdir(ROOT);
process.exitCode = (await ensureDependencies()) && (await ensureBuilt(SHIPPED, { checkTypes: true })) ? 0 : 1;
