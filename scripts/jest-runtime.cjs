// jest's runtime, with one difference: a test file alone is loaded anew. What it requires is Node's own and loaded once
// in each worker, as in a process of the service: the application's modules are neither read nor compiled again for
// each of the test files that start it, and stay fast. With jest-environment.cjs.
const { createRequire } = require('node:module');
const { Script } = require('node:vm');
const { default: Runtime } = require('jest-runtime');

/** jest's own modules, which every test file has for itself, as this process has compiled them, by file name. */
const compiled = new Map();

module.exports = class extends Runtime {
  constructor(config, environment, resolver, transformer, cacheFS, coverageOptions, testPath, globalConfig) {
    super(config, environment, resolver, transformer, cacheFS, coverageOptions, testPath, globalConfig);
    const { executor } = this;
    executor.compile = (source, filename) => {
      const script = compiled.get(filename) ?? scriptOf(source, filename, executor.injectedModuleParameters);
      if (filename !== testPath) compiled.set(filename, script);
      return script.runInThisContext();
    };
    // for what a test file requires, too
    globalThis.jest = this.jestGlobals.jestObjectFor(testPath);
  }

  requireModuleOrMock(from, moduleName) {
    return createRequire(from)(moduleName);
  }
};

function scriptOf(source, filename, parameters) {
  const head = `(function (${parameters.join(', ')}) {`;
  return new Script(`${head}${source}\n})`, { filename, columnOffset: -head.length });
}
