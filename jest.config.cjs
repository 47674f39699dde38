// Tests run on the compiled output in dist/, which is what ships. See scripts/test.mjs. Specs named *.heavy.spec.ts (see
// CONTRIBUTING.md) run only with TEST_HEAVY=1.
const isHeavy = process.env.TEST_HEAVY === '1';

module.exports = {
  testEnvironment: '<rootDir>/scripts/jest-environment.cjs',
  runtime: '<rootDir>/scripts/jest-runtime.cjs',
  roots: ['<rootDir>/dist'],
  testMatch: [isHeavy ? '**/*.heavy.spec.js' : '**/!(*.heavy).spec.js'],
  reporters: ['default', '<rootDir>/scripts/jest-times.cjs'],
  setupFiles: ['<rootDir>/dist/test/generated-data.js'],
  globalSetup: '<rootDir>/dist/test/global-setup.js',
  globalTeardown: '<rootDir>/dist/test/global-teardown.js',
  // heavy tests measure memory, so they should not wait long for a processor
  maxWorkers: isHeavy ? 2 : 3,
  workerGracefulExitTimeout: 30_000, // a worker stops its shared applications
  testTimeout: 60_000,
  transform: {},
};
