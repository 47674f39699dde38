import fc from 'fast-check';

// Runs before each test file. Generated data is the same in every `npm test`, so that no run fails by chance.
// `npm run test:heavy` generates different data each time; a failure prints the seed.
if (process.env.TEST_HEAVY !== '1') fc.configureGlobal({ seed: 17 });
