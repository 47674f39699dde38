/** Returns the size of a test: `heavy` in `npm run test:heavy`, which has more time, and `usual` in `npm test`. */
export const sized = (usual: number, heavy: number): number =>
  process.env.TEST_HEAVY === '1' ? heavy : usual;
