// Tests run on the compiled output in dist/: what is tested is what ships. See scripts/test.mjs.
module.exports = {
  testEnvironment: '<rootDir>/scripts/jest-environment.cjs',
  runtime: '<rootDir>/scripts/jest-runtime.cjs',
  roots: ['<rootDir>/dist'],
  testMatch: ['**/*.spec.js'],
  globalSetup: '<rootDir>/dist/test/global-setup.js',
  globalTeardown: '<rootDir>/dist/test/global-teardown.js',
  maxWorkers: 3,
  testTimeout: 60_000,
  transform: {},
};
