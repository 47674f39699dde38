// jest's runtime, with one difference: only the test file itself is loaded again. Node loads its modules once per worker, as in
// a process of the service, so that the application is neither read nor compiled again for each test file, and its code
// stays optimized. Used with jest-environment.cjs.
const asyncHooks = require('node:async_hooks');
const { createRequire } = require('node:module');
const { Script } = require('node:vm');
const { default: Runtime } = require('jest-runtime');

/** Compiled scripts of jest's own modules, which every test file loads separately, by file name. */
const compiled = new Map();

module.exports = class extends Runtime {
  storages = [];

  constructor(config, environment, resolver, transformer, cacheFS, coverageOptions, testPath, globalConfig) {
    super(config, environment, resolver, transformer, cacheFS, coverageOptions, testPath, globalConfig);
    const { executor } = this;
    executor.compile = (source, filename) => {
      const script = compiled.get(filename) ?? scriptOf(source, filename, executor.injectedModuleParameters);
      if (filename !== testPath) compiled.set(filename, script);
      return script.runInThisContext();
    };
    // also for the modules of a test file
    globalThis.jest = this.jestGlobals.jestObjectFor(testPath);
  }

  requireModuleOrMock(from, moduleName) {
    return createRequire(from)(moduleName);
  }

  // jest creates an AsyncLocalStorage for each test file. Before Node 24, every promise copies the stores of all that are
  // enabled, so each file would slow down those after it.
  requireInternalModule(from, to) {
    if (to !== 'node:async_hooks') return super.requireInternalModule(from, to);
    const { storages } = this;
    const AsyncLocalStorage = class extends asyncHooks.AsyncLocalStorage {
      constructor(...args) {
        super(...args);
        storages.push(this);
      }
    };
    return { ...asyncHooks, AsyncLocalStorage };
  }

  teardown() {
    for (const storage of this.storages) storage.disable();
    super.teardown();
  }
};

function scriptOf(source, filename, parameters) {
  const head = `(function (${parameters.join(', ')}) {`;
  return new Script(`${head}${source}\n})`, { filename, columnOffset: -head.length });
}
