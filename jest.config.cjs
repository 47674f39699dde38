// Tests run on the compiled output in dist/: what is tested is what ships. See scripts/test.mjs.
module.exports = {
  testEnvironment: 'node',
  roots: ['<rootDir>/dist'],
  testMatch: ['**/*.spec.js'],
  globalSetup: '<rootDir>/dist/test/global-setup.js',
  globalTeardown: '<rootDir>/dist/test/global-teardown.js',
  maxWorkers: 2,
  testTimeout: 60_000,
  transform: { '/node_modules/.+\\.m?js$': '<rootDir>/scripts/jest-esm.cjs' },
  transformIgnorePatterns: [
    '/node_modules/(?!(@nestjs|jose|uuid|re2js|lru-cache|ajv-formats|@jitl|quickjs-emscripten-core|@opentelemetry/otlp-exporter-base)/)',
  ],
};
