// npm start: installs and builds whatever is not up to date, then runs the service (API and worker) in this process, so that
// it receives the signals itself. Relative paths in the environment (DATA_DIR) are relative to the checkout.
//
// Imports nothing before it has checked the Node version, because old versions may fail to load the imports.
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19) || (major === 22 && minor < 12) || major === 21) {
  console.error(
    `This is Node ${process.version}. Install Node 20.19 or newer 20.x, or Node 22.12 or newer, from nodejs.org.`,
  );
  process.exit(1);
}

const { ensureDependencies } = await import('./lib/dependencies.mjs');
const { ensureBuilt, SHIPPED } = await import('./lib/build-state.mjs');
const { ROOT, say } = await import('./lib/project.mjs');

process.chdir(ROOT);
for (const [stage, work] of [
  ['installing dependencies', () => ensureDependencies()],
  ['building', () => ensureBuilt(SHIPPED)],
]) {
  if (!(await work())) {
    say(`npm start: ${stage} failed`);
    process.exit(1);
  }
}
say('starting');
await import('../dist/src/standalone.js');
